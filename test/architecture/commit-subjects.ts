/**
 * Checks that the subject of each commit has at most 72 characters, since the commit before this rule. `npm run check`
 * runs it. Without the history, as in an archive or a shallow clone, it prints that it checks nothing.
 */
import { spawnSync } from "node:child_process";

const before = "3a6b80bd6372992ed3dcc057e217caf9405eac09";
const maxLength = 72;

const git = spawnSync("git", ["log", "--format=%h %s", `${before}..HEAD`], { encoding: "utf8" });
if (git.status === 0) {
  const isLong = (line: string) => line.slice(line.indexOf(" ") + 1).length > maxLength;
  for (const line of git.stdout.split("\n").filter(isLong)) {
    console.error(`subject of more than ${maxLength} characters: ${line}`);
    process.exitCode = 1;
  }
} else console.log(`subjects of commits are not checked: ${git.error?.message ?? git.stderr.trim()}`);
