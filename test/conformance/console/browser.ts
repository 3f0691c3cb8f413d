/** A browser that tests use the console with. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { closePages, hasBrowser, sharedBrowser } from "../chromium.ts";
import type { Platform } from "../platform.ts";

export { hasBrowser };

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = process.env.TEST_SCREENSHOTS;

/** The address of any call. */
export const anyCall = /\/platform\.[\w.]+\/\w+$/;

const desktop = { width: 1280, height: 800 };

/** What pages are looked at with. */
const looks = [
  { look: "desktop", size: desktop, colorScheme: "light" },
  { look: "phone", size: { width: 390, height: 844 }, colorScheme: "light" },
  { look: "dark", size: desktop, colorScheme: "dark" },
] as const;

/** A page of the console, in a context of its own. */
export interface OpenedPage {
  readonly page: Page;
  /** What the browser complained about, and requests of other servers. */
  readonly complaints: readonly string[];
}

/** A browser for the tests of a suite. `platform`: where the console is, and who signs in. */
export function consoleBrowser(platform: () => Pick<Platform, "baseUrl" | "admin">) {
  let browser: Browser;
  beforeAll(async () => {
    if (hasBrowser) browser = await sharedBrowser();
  });
  afterAll(closePages);

  /** Opens a path below `/console`, where nobody is signed in. */
  async function openSignedOut(path: string, options: BrowserContextOptions = {}): Promise<OpenedPage> {
    const context = await browser.newContext({ viewport: desktop, ...options });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type()) && !/status of (400|409|404)/.test(message.text()))
        complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(platform().baseUrl) && !/^(data|blob):/.test(url)) complaints.push(`request of ${url}`);
    });
    await page.goto(`${platform().baseUrl}/console${path}`);
    return { page, complaints };
  }

  return {
    openSignedOut,
    /** Opens a path below `/console`, and signs in with a token. */
    async open(path: string, options: BrowserContextOptions = {}, token = platform().admin): Promise<OpenedPage> {
      const opened = await openSignedOut(path, options);
      await signIn(opened.page, token);
      return opened;
    },
  };
}

/** Signs in with a token where the console asks for one. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("button", { name: "Account" }).waitFor();
}

/** Goes to a path below `/console` without a reload, which forgets the token. */
export async function go(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState({}, "", "/console${path}"); dispatchEvent(new PopStateEvent("popstate"))`);
}

/** Waits until everything on the page has been read. */
export async function settled(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await expect.poll(() => page.locator(".mantine-Skeleton-root").count()).toBe(0);
}

/** Serious findings of axe. Transitions have ended, so that colours are final. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate("Promise.allSettled(document.getAnimations().map(({ finished }) => finished))");
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(`${axe};undefined`);
  const findings = (await page.evaluate(
    `axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.flatMap(({ id, impact, nodes }) => nodes.map(({ html }) => id + " " + impact + " " + html)))`,
  )) as string[];
  return findings.filter((finding) => /^\S+ (serious|critical)/.test(finding));
}

/**
 * Looks at a page on a desktop, on a phone and in the dark: it has no serious findings, and is not wider than the
 * window.
 */
export async function lookAt(page: Page, name: string): Promise<void> {
  for (const { look, size, colorScheme } of looks) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    await settled(page);
    await screenshot(page, `${name}-${look}`);
    expect(await seriousFindings(page), `${name}, ${look}`).toEqual([]);
    const excess = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    expect(excess, `${name} is wider than the window, ${look}`).toBeLessThanOrEqual(0);
  }
  await page.emulateMedia({ colorScheme: "light" });
}

/** Keeps a picture of a page in the folder that TEST_SCREENSHOTS names, if it does. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (shots !== undefined) await page.screenshot({ path: join(shots, `${name}.png`) });
}
