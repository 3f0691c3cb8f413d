/**
 * Runs the tests nearest to what has changed: `npm run test:near`, or `npm run test:near main` for what has changed
 * since a commit or branch. It is a quick answer, and none that CI gives: it prints what it leaves out.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { costOf, nearestTests } from "./nearest.ts";

/** Seconds of CPU that all may take, by `costOf`. */
const budget = 50;

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
const all = [...new Set(ranked.map(({ test }) => test))];
const chosen: string[] = [];
let seconds = 0;
for (const test of all) {
  seconds += costOf(test);
  if (seconds > budget && chosen.length > 0) break;
  chosen.push(test);
}
const omitted = all.slice(chosen.length);

/** What the tests load as it was built. */
const built = ["console", "pages"].filter((folder) => changed.some((file) => file.startsWith(`${folder}/`)));

if (chosen.length === 0) console.log(`no test is near to what has changed since ${since}`);
else {
  const next = omitted.length === 0 ? "" : `: ${omitted.slice(0, 5).join(" ")}${omitted.length > 5 ? " …" : ""}`;
  console.log(
    `${changed.length} files have changed since ${since}; ${omitted.length} files of tests are left out${next}`,
  );
  for (const folder of built) execFileSync(process.execPath, [`${folder}/build.mjs`], { stdio: "inherit" });
  const { status } = spawnSync("vitest", ["run", "--project", "!campaigns", ...chosen], { stdio: "inherit" });
  process.exitCode = status ?? 1;
}
