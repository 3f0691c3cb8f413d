/** The official runner, https://github.com/connectrpc/conformance: a program in Go, built once from its module and kept in node_modules/.cache. */
import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const version = "v1.0.5";
const folder = import.meta.dirname;
const cache = resolve(folder, "../../node_modules/.cache", `connectconformance-${version}`);
const program = join(cache, "connectconformance");

/** The runner's path. Errors: a plain Error saying why it cannot be had: no Go, or no way to the module. */
export function buildRunner(): string {
  if (existsSync(program)) return program;
  const path = `${process.env.PATH}:/usr/local/go/bin`; // where Go's own installer puts it
  const env = { ...process.env, PATH: path, GOBIN: cache };
  const module = `connectrpc.com/conformance/cmd/connectconformance@${version}`;
  execFileSync("go", ["install", module], { env, stdio: "pipe", timeout: 500_000 });
  return program;
}

/** What the runner printed, and whether it is content. `more`: further flags of its own. */
export interface Verdict {
  readonly isContent: boolean;
  readonly printed: string;
}

/** Runs every case of `features.yaml`, or those that `more` flags choose, against the server with the given doors. */
export function runConformance(runner: string, doors: string, more: readonly string[] = []): Promise<Verdict> {
  const flags = [
    ...["--mode", "server", "--conf", join(folder, "features.yaml")],
    ...["--known-flaky", `@${join(folder, "known-flaky.txt")}`],
    ...["--parallel", "16", ...more],
  ];
  const server = [process.execPath, join(folder, "server.ts"), doors];
  return new Promise((resolve) => {
    execFile(runner, [...flags, "--", ...server], { maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ isContent: error === null, printed: stdout + stderr }),
    );
  });
}
