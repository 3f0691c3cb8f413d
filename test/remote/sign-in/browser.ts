/**
 * A browser without a screen, which fills in the forms of an OpenID provider. Run as a program it opens a page and
 * writes the last one into a file: `node browser.ts FILE USER URL`; the user `nobody` cancels.
 */
import { renameSync, writeFileSync } from "node:fs";

/** The page at which a browser ended. */
export interface LastPage {
  readonly url: string;
  readonly httpStatus: number;
  readonly headers: Headers;
  readonly text: string;
}

const maxPages = 30;

/** Opens a page and follows its redirects and forms to the end. @param user signs in; `nobody` cancels instead. */
export async function browse(start: string, user: string): Promise<LastPage> {
  const cookies = new Map<string, string>();
  let [url, form]: [string, URLSearchParams | undefined] = [start, undefined];
  for (let pages = 0; pages < maxPages; pages++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const init: RequestInit = { redirect: "manual", headers: { cookie } };
    const response = await fetch(url, form === undefined ? init : { ...init, method: "POST", body: form });
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0]!.split("=", 2);
      cookies.set(name!, value!);
    }
    const text = await response.text();
    const [location, next] = [response.headers.get("location"), formIn(text, user)];
    if (location !== null) [url, form] = [new URL(location, url).href, undefined];
    else if (next !== undefined) [url, form] = [new URL(next.action, url).href, next.fields];
    else return { url, httpStatus: response.status, headers: response.headers, text };
  }
  throw new Error(`more than ${maxPages} pages from ${start}`);
}

function formIn(html: string, user: string): { action: string; fields: URLSearchParams | undefined } | undefined {
  const [, action] = /<form[^>]* action="([^"]+)"/.exec(html) ?? [];
  if (action === undefined) return undefined;
  const [, cancel] = /href="([^"]+\/abort)"/.exec(html) ?? [];
  if (user === "nobody" && cancel !== undefined) return { action: cancel, fields: undefined };
  const fields = new URLSearchParams();
  for (const [input] of html.matchAll(/<input[^>]*>/g)) {
    const [name, value] = ["name", "value"].map((it) => new RegExp(` ${it}="([^"]*)"`).exec(input)?.[1]);
    if (name !== undefined) fields.set(name, value ?? user);
  }
  return { action, fields };
}

const [, program, file, user, url] = process.argv;
if (program === import.meta.filename) {
  writeFileSync(`${file}.part`, (await browse(url!, user!)).text);
  renameSync(`${file}.part`, file!); // a reader sees all of it
}
