/** The program that tests start. */
import { bundled } from "../bundled.ts";

/**
 * Returns the path of the module that Node runs: that of the bundle, as the package has it. Errors: the bundle cannot
 * be made.
 */
export function programEntry(): string {
  return bundled("program", "packages/server/rolldown.config.js", "src/main.ts");
}
