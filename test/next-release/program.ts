/** Runs the program of the next release, as `test/cli/platform-process.ts` runs that of this one. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { repository, type Surroundings } from "../cli/platform-process.ts";

/** Where it runs. Its threads get the hooks by the same variable. */
export const nextRelease: Surroundings = {
  entry: join(repository, "src/main.ts"),
  env: { NODE_OPTIONS: `--import=${pathToFileURL(join(repository, "test/next-release/hooks.ts")).href}` },
};
