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

/** Starts it. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath!, args: ["--no-sandbox"] });
}
