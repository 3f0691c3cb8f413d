/**
 * `npm run bench:console`: how long people wait for the console, in Chromium, on a server with 100,000 repos and 30,000
 * advisories. Each round opens it without a cache, and the best of all rounds is printed with the worst. See
 * docs/performance.md.
 *
 *     npm run bench:console               five rounds
 *     npm run bench:console -- ROUNDS
 */
import { existsSync, mkdirSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { fill, fillAdvisories } from "./data.ts";
import { folder, stopAll } from "./processes.ts";
import { runCommand, startProgram } from "./program.ts";

const rounds = Number(process.argv[2] ?? 5);
if (!(rounds > 0)) throw new Error(`the rounds are a number, not ${process.argv[2]}`);
const executablePath = ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
if (executablePath === undefined) throw new Error("Chromium is not installed; Debian's package is `chromium`");

/** The most that a figure may be, in milliseconds, and what it measures. */
const figures = {
  signIn: [1500, "the page for signing in takes a token, from the first byte"],
  list: [1500, "the first list of 200 repos takes clicks, from the click on Sign in"],
  nextList: [1500, "the list of 200 advisories takes clicks, from the change of the address"],
  scrollRepos: [50, "longest task while 200 repos are scrolled through"],
  scrollAdvisories: [50, "longest task while 200 advisories are scrolled through"],
} as const;
type Figures = Record<keyof typeof figures, number>;

/** Records tasks of 50 ms or more in a page. */
const observe = `
  globalThis.tasks = [];
  globalThis.begun = 0;
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) tasks.push({ ms: duration, end: startTime + duration });
  }).observe({ type: "longtask", buffered: true });`;

/** As long as the page must have had nothing to do, in milliseconds. */
const quietMs = 500;

const directory = join(folder, "console");
mkdirSync(directory);
const database = `sqlite:${join(directory, "platform.db")}`;
const { rootGroupUid: root } = JSON.parse(runCommand(["init", "--json", "--database", database]));
await fill(database, join(directory, "peer.db"), root, 100_000);
await fillAdvisories(database, root, 30_000);
const { port, token, stop } = await startProgram(database, []);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const measured: Figures[] = [];
  for (let i = 0; i < rounds; i++) measured.push(await round(browser, `http://127.0.0.1:${port}/console`, token));
  console.log(`load ${loadavg()[0]!.toFixed(1)}, ${rounds} rounds; milliseconds`);
  for (const [name, [limit, meaning]] of Object.entries(figures)) {
    const all = measured.map((each) => each[name as keyof Figures]);
    const [best, worst] = [Math.min(...all), Math.max(...all)].map(Math.round);
    console.log(`${meaning.padEnd(74)} ${String(best).padStart(5)}–${worst} ${best! > limit ? "over" : "of"} ${limit}`);
  }
} finally {
  await browser.close();
  await stop();
  stopAll();
}

async function round(browser: Browser, address: string, token: string): Promise<Figures> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(observe);
  await page.goto(`${address}/list/repos?size=200`);
  const signIn = await interactive(page, "input", 1);
  await page.getByLabel("Token", { exact: true }).fill(token);
  await begin(page);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  const list = await interactive(page, "main tbody a[href*='/view/repos/']", 200);
  const scrollRepos = await longestWhileScrolling(page);
  await begin(page);
  await page.evaluate(
    'history.pushState({}, "", "/console/list/advisories?size=200"); dispatchEvent(new PopStateEvent("popstate"))',
  );
  const nextList = await interactive(page, "main tbody a[href*='/view/advisories/']", 200);
  const scrollAdvisories = await longestWhileScrolling(page);
  await context.close();
  return { signIn, list, nextList, scrollRepos, scrollAdvisories };
}

/** Begins to measure: what happened before does not count. */
async function begin(page: Page): Promise<void> {
  await page.evaluate("tasks.length = 0; globalThis.begun = performance.now()");
}

/** Milliseconds until there are `count` elements, and the last long task before a quiet time has ended. */
async function interactive(page: Page, selector: string, count: number): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    let shown;
    const check = () => {
      const now = performance.now();
      if (shown === undefined && document.querySelectorAll(${JSON.stringify(selector)}).length >= ${count}) shown = now;
      const last = Math.max(shown ?? now, ...tasks.map(({ end }) => end));
      if (now - last > ${quietMs}) resolve(last - begun);
      else setTimeout(check, 10);
    };
    check();
  })`);
}

/**
 * Scrolls through the page with the wheel. Returns the length of the longest task in milliseconds; 0 if none was long.
 */
async function longestWhileScrolling(page: Page): Promise<number> {
  await begin(page);
  await page.mouse.move(700, 500);
  for (let step = 0; step < 60; step++) {
    await page.mouse.wheel(0, 200);
    await page.evaluate("new Promise(requestAnimationFrame)");
  }
  return page.evaluate("Math.max(0, ...tasks.map(({ ms }) => ms))");
}
