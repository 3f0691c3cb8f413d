/** The console: one page for all paths below `/console`, and the files that it loads. */
import { randomBytes } from "node:crypto";
import type { ConsoleIssuer } from "../config/index.ts";
import type { Asset } from "./assets.ts";
import { contentSecurityPolicy } from "./headers.ts";
import { html } from "./html.ts";

/** The path of the console, and the prefix of its paths. */
export const consolePath = "/console";

/** A page, and the policy that it follows. */
export interface Page {
  readonly body: string;
  readonly policy: string;
}

/**
 * What makes the page of the console, with a fresh nonce for each response. The page has the issuers in a meta element,
 * and may call their origins.
 * @param index `index.html` as it was built; undefined if it was not.
 */
export function consolePage(
  title: string,
  index: Asset | undefined,
  issuers: readonly ConsoleIssuer[],
): () => Promise<Page> {
  const origins = [...new Set(issuers.map(({ issuer }) => new URL(issuer).origin))];
  const shown = html`${JSON.stringify(issuers)}`.text;
  let reading: Promise<string> | undefined;
  return async () => {
    if (index === undefined) return { body: notBuilt(title), policy: contentSecurityPolicy() };
    reading ??= index.read().then(({ identity }) => identity.toString());
    reading.catch(() => {
      reading = undefined; // the next request tries again
    });
    const nonce = randomBytes(16).toString("base64url");
    const body = (await reading).replaceAll("{nonce}", nonce).replace("{issuers}", () => shown);
    return { body, policy: contentSecurityPolicy(nonce, origins) };
  };
}

function notBuilt(title: string): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}: console</title>
</head>
<body>
<main><h1>${title}</h1><p>The console is not built here: <code>npm run prepare</code> in the checkout builds it.</p></main>
</body>
</html>
`.text;
}
