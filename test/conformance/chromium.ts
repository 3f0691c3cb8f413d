/** The browser of tests. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** The first has nothing of a window around the page, which takes a third off the tests. */
const programs = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const executablePath = programs.find(existsSync);

/** Whether there is a browser. */
export const hasBrowser = executablePath !== undefined;
if (!hasBrowser)
  console.log("skipped: Chromium is not installed; Debian's packages are `chromium-headless-shell` and `chromium`");

/** A page of a test ends before it gains from code that V8 has optimized, which takes an eighth of the time. */
const args = ["--no-sandbox", "--js-flags=--no-opt --no-maglev"];

/** Starts it. `handleSIGTERM`: whether that signal closes it and does not end this process, as by default. */
export function startBrowser(handleSIGTERM = true): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath!, args, handleSIGTERM });
}

let shared: Promise<Browser> | undefined;

/**
 * The browser of this process, for one suite after the other; it ends with the process. {@link closePages} is called at
 * the end of each suite.
 */
export async function sharedBrowser(): Promise<Browser> {
  if ((await started())?.isConnected() !== true) shared = startBrowser(false);
  return shared!;
}

/** Closes what is open in the browser of this process, and forgets what it has stored. */
export async function closePages(): Promise<void> {
  const contexts = (await started())?.contexts() ?? [];
  await Promise.all(contexts.map((context) => context.close()));
}

/** The browser of this process; undefined if it has not been started, or did not start. */
function started(): Promise<Browser | undefined> | undefined {
  return shared?.catch(() => undefined);
}
