/**
 * Runs the tests nearest to what has changed: `npm run test:near`, or `npm run test:near main` for what has changed
 * since a commit or branch. It is the answer of a minute, and none that CI gives.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { nearestTests } from "./nearest.ts";

/** So many files of tests take less than a minute. */
const most = 10;

const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).split("\n").filter(Boolean);
const [since = "HEAD"] = process.argv.slice(2);
const changed = [
  ...git("diff", "--name-only", "--relative", since),
  ...git("ls-files", "--others", "--exclude-standard"),
];

// The nearest of each file come before the next of any.
const isFast = (test: string) => !test.endsWith(".campaign.test.ts");
const nearest = changed.map((file) => nearestTests(file).filter((test) => test === file || isFast(test)));
const ranked = nearest.flatMap((tests) => tests.map((test, rank) => ({ test, rank }))).sort((a, b) => a.rank - b.rank);
const chosen = [...new Set(ranked.map(({ test }) => test))].slice(0, most);

if (chosen.length === 0) console.log(`no test is near to what has changed since ${since}`);
else {
  console.log(`${changed.length} files have changed since ${since}`);
  const { status } = spawnSync("vitest", ["run", "--project", "!campaigns", ...chosen], { stdio: "inherit" });
  process.exitCode = status ?? 1;
}
