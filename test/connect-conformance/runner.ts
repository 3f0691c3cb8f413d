/** The official runner, https://github.com/connectrpc/conformance: a program in Go. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { goProgram } from "../go-program.ts";

const folder = import.meta.dirname;

/** The runner's path; undefined if it cannot be had. */
export function buildRunner(): string | undefined {
  return goProgram("connectrpc.com/conformance/cmd/connectconformance", "v1.0.5");
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
