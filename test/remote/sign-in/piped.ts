/** Commands in processes of their own, whose output is read while they run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { cleanEnvironment, type Outcome, repository } from "../../cli/platform-process.ts";

/** A command that runs. */
export interface PipedCommand {
  /** Waits until standard error matches. Errors: the command ended before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  readonly ended: Promise<Outcome>;
}

/** Starts a command. @param input what it reads from standard input. */
export function startPiped(args: readonly string[], env: Readonly<Record<string, string>>, input = ""): PipedCommand {
  const child = spawn(process.execPath, [join(repository, "src/main.ts"), ...args], {
    env: { ...cleanEnvironment(), ...env },
  });
  const written = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    written.stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    written.stderr += chunk;
  });
  child.stdin.end(input);
  const closed = once(child, "close");
  return {
    async printed(pattern) {
      for (;;) {
        const match = pattern.exec(written.stderr);
        if (match !== null) return match;
        await Promise.race([once(child.stderr, "data"), closed.then(() => Promise.reject(new Error(written.stderr)))]);
      }
    },
    ended: closed.then(() => ({ code: child.exitCode, ...written })),
  };
}
