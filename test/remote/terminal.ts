/** Command lines on a terminal, by `script` of util-linux. */
import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";
import { cleanEnvironment } from "../cli/platform-process.ts";
import { programEntry } from "../cli/program.ts";

/** Whether there is `script`. Where it is missing, the tests that need it are skipped. */
export const hasTerminal = (() => {
  try {
    execFileSync("script", ["--version"]);
    return true;
  } catch {
    console.warn("skipped, script is missing: output on a terminal");
    return false;
  }
})();

/** The shell's words that run the program. */
export const program = `'${process.execPath}' '${programEntry()}'`;

/** Runs a command line of the shell on a terminal, in which `platform` is the program. Returns what it shows. */
export async function onTerminal(
  line: string,
  { columns = 80, env = {} }: { readonly columns?: number; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const { COLUMNS: _, NO_COLOR: __, ...clean } = cleanEnvironment();
  const command = `stty cols ${columns}; ${line.replace("platform", program)}`;
  const { stdout } = await promisify(execFile)("script", ["-qec", command, "/dev/null"], { env: { ...clean, ...env } });
  return stdout.replaceAll("\r\n", "\n");
}
