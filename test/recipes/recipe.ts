/**
 * Follows a page of the documentation in a copy of the repository: what its fenced blocks say is done, in order.
 *
 *     ```ts src/new.ts       a new file with this content
 *     ```diff src/old.ts     lines to add (`+`), to remove (`-`) and to find (` `); `@@` begins another place
 *     ```sh                  commands, run by bash
 *
 * Other blocks are for readers alone.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cleanEnvironment, repository } from "../cli/platform-process.ts";

/** A fenced block. */
export interface Block {
  /** Where it begins in the page, from 1. */
  readonly line: number;
  readonly language: string;
  /** What follows the language: the path of a file. */
  readonly path: string;
  readonly content: string;
}

/** The fenced blocks of a page. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(?<language>\w+) ?(?<path>[^\n]*)\n(?<content>.*?)^```$/gms)].map(
    ({ index, groups }) => ({
      line: markdown.slice(0, index).split("\n").length,
      language: groups!.language!,
      path: groups!.path!,
      content: groups!.content!,
    }),
  );
}

/** The files that a page creates, by path. */
export function newFilesOf(blocks: readonly Block[]): string[] {
  return blocks.filter(({ language, path }) => path.includes("/") && language !== "diff").map(({ path }) => path);
}

const notCopied = new Set(["node_modules", ".git", ".proto-deps", "dist", "data"]);

/** Copies the repository to an empty folder, as a checkout after `npm ci` is. */
export function copyRepository(folder: string): void {
  for (const name of readdirSync(repository)) {
    if (!notCopied.has(name)) cpSync(join(repository, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
}

/** Does what a block says. Errors: one that says what of the page does not fit the repository. */
export function follow(folder: string, { language, path, content }: Block): void {
  const file = join(folder, path);
  if (language === "sh" && path === "") {
    run(folder, content);
  } else if (language === "diff") {
    writeFileSync(file, edited(path, readFileSync(file, "utf8"), content));
  } else if (path.includes("/")) {
    if (existsSync(file)) throw new Error(`${path} exists already`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

/** The text of a file after the changes of a diff. Errors: one with the lines that are not in it once. */
function edited(path: string, text: string, diff: string): string {
  return diff.split(/^@@\n/m).reduce((current, hunk) => {
    const lines = hunk.split("\n").slice(0, -1);
    const without = (sign: string) =>
      lines.flatMap((line) => (line.startsWith(sign) ? [] : [`${line.slice(1)}\n`])).join("");
    const found = without("+");
    const [before, after, ...more] = `\n${current}`.split(`\n${found}`);
    if (after === undefined || more.length > 0)
      throw new Error(`${path} has these lines ${more.length > 0 ? "more than once" : "nowhere"}:\n${found}`);
    return `${before}\n${without("-")}${after}`.slice(1);
  }, text);
}

/** Runs commands, by bash, until one fails. Errors: one with what they printed. */
export function run(folder: string, script: string): void {
  const PATH = [dirname(process.execPath), join(repository, "node_modules/.bin"), process.env.PATH].join(":");
  try {
    execFileSync("bash", ["-ec", script], { cwd: folder, env: { ...cleanEnvironment(), PATH }, stdio: "pipe" });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer };
    throw new Error(`${script.trim()} failed:\n${stdout}${stderr}`);
  }
}
