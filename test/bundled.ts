/** Programs that tests start, as bundles: these start in half the time of the sources. */
import { execFileSync } from "node:child_process";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeOnce } from "./make-once.ts";

const repository = fileURLToPath(new URL("..", import.meta.url));

/**
 * Returns the path of the module that Node runs. `config`: that of Rolldown; `entry`: the module in the sources, which
 * a run that watches files starts. Both are paths in the repository. Errors: the bundle cannot be made.
 */
export function bundled(name: string, config: string, entry: string): string {
  if (process.env.VITEST_MODE === "WATCH") return join(repository, entry);
  const folder = makeOnce(name, (folder) => {
    const rolldown = join(repository, "node_modules/.bin/rolldown");
    const args = [rolldown, "--config", config, "--dir", folder];
    execFileSync(process.execPath, args, { cwd: repository, stdio: "pipe" });
  });
  return join(folder, `${basename(entry, ".ts")}.js`);
}
