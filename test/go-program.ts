/** Programs in Go that tests ask: each built once from its module, and kept in node_modules/.cache. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";

/**
 * Where a program is, or undefined; why it cannot be had, for want of Go or of the way to its module, is printed then.
 * `version`: as Go writes it.
 */
export function goProgram(module: string, version: string): string | undefined {
  const name = basename(module);
  const cache = resolve(import.meta.dirname, "../node_modules/.cache", `${name}-${version}`);
  const program = join(cache, name);
  if (existsSync(program)) return program;
  const path = `${process.env.PATH}:/usr/local/go/bin`; // where Go's own installer puts it
  const env = { ...process.env, PATH: path, GOBIN: cache };
  try {
    execFileSync("go", ["install", `${module}@${version}`], { env, stdio: "pipe", timeout: 500_000 });
    return program;
  } catch (error) {
    const reason = (error as Error).message.trim().split("\n").at(-1);
    console.log(`skipped, ${name} cannot be built, for want of Go or of its module proxy: ${reason}`);
    return undefined;
  }
}
