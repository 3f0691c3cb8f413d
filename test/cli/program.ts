/** The program that tests start. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeOnce } from "../make-once.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Returns the path of the module that Node runs: that of the bundle, as the package has it, since it starts in half the
 * time of the sources. A run that watches files starts the sources. Errors: the bundle cannot be made.
 */
export function programEntry(): string {
  if (process.env.VITEST_MODE === "WATCH") return join(repository, "src/main.ts");
  return join(makeOnce("program", bundle), "main.js");
}

function bundle(folder: string): void {
  const rolldown = join(repository, "node_modules/.bin/rolldown");
  execFileSync(process.execPath, [rolldown, "--config", "packages/server/rolldown.config.js", "--dir", folder], {
    cwd: repository,
    stdio: "pipe",
  });
}
