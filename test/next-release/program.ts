/** Runs the program of the next release, as `test/cli/platform-process.ts` runs that of this one. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundled } from "../bundled.ts";
import { repository, type Surroundings } from "../cli/platform-process.ts";

/** A run that watches files starts the sources; the threads get the hooks by the same variable. */
const env: Record<string, string> =
  process.env.VITEST_MODE === "WATCH"
    ? { NODE_OPTIONS: `--import=${pathToFileURL(join(repository, "test/next-release/hooks.ts")).href}` }
    : {};

/** Where it runs. */
export const nextRelease = {
  get entry() {
    return bundled("next-release", "test/next-release/rolldown.config.js", "src/main.ts");
  },
  env,
} satisfies Surroundings;
