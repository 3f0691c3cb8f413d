/**
 * The program in this process: for tests of what its commands do and print, without the half second that a process
 * needs to start.
 */
import { Console } from "node:console";
import { tmpdir } from "node:os";
import { runCommand } from "../../src/cli/index.ts";
import { cleanEnvironment, type Outcome, type Surroundings } from "./platform-process.ts";

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command to its end, once those before it have ended: it has the output, directory and environment of this
 * process for itself. Not for `serve`, whose log would not be captured, nor for tests that run at the same time, whose
 * output would be.
 */
export function runHere(args: readonly string[], surroundings: Surroundings = {}): Promise<Outcome> {
  const outcome = last.then(() => run(args, surroundings));
  last = outcome.catch(() => {});
  return outcome;
}

async function run(args: readonly string[], { cwd = tmpdir(), env = {} }: Surroundings): Promise<Outcome> {
  const before = { cwd: process.cwd(), env: process.env, console };
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  globalThis.console = new Console(process.stdout, process.stderr);
  process.chdir(cwd);
  process.env = { ...cleanEnvironment(), ...env };
  try {
    const code = await runCommand(args);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    process.env = before.env;
    process.chdir(before.cwd);
    globalThis.console = before.console;
    stdout.release();
    stderr.release();
  }
}

/**
 * Takes what is written to a stream of this process. `release` also removes the listeners that it was given meanwhile.
 */
function capture(stream: NodeJS.WriteStream): { text(): string; release(): void } {
  const { write } = stream;
  const listeners = stream.listeners("error");
  const chunks: string[] = [];
  stream.write = (chunk: string | Uint8Array) => {
    chunks.push(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString());
    return true;
  };
  return {
    text: () => chunks.join(""),
    release() {
      stream.write = write;
      for (const listener of stream.listeners("error"))
        if (!listeners.includes(listener)) stream.off("error", listener as () => void);
    },
  };
}
