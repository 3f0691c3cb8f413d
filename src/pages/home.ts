/** The front page: what runs here, and what to do next. */
import type { Asset } from "./assets.ts";
import { type Html, html } from "./html.ts";

/** Where the licences are of what the pages contain. */
export const licensesPath = "/third-party-licenses.txt";

/** What the front page says. */
export interface HomeFacts {
  readonly title: string;
  readonly summary: string;
  /** Version of the program. */
  readonly version: string;
  /** Where clients reach the API. */
  readonly baseUrl: string;
  readonly protocols: readonly string[];
  readonly links: readonly HomeLink[];
  readonly commands: readonly { readonly title: string; readonly command: string }[];
}

/** A place to go on. */
export interface HomeLink {
  readonly path: string;
  readonly title: string;
  readonly description: string;
}

/** The page as HTML. */
export function homePage(facts: HomeFacts, assets: ReadonlyMap<string, Asset>): string {
  const { title, summary, version, baseUrl, protocols, links, commands } = facts;
  const icon = assets.get("icon.svg");
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<meta name="description" content="${summary}">
${headElements(assets)}
</head>
<body>
<main>
<h1>${icon === undefined ? "" : html`<img src="${icon.path}" alt="" width="34" height="34">`}${title}</h1>
<p>${summary}</p>
<dl>
<dt>Address</dt><dd><code>${baseUrl}</code></dd>
<dt>Version</dt><dd>${version}</dd>
<dt>Protocols</dt><dd>${protocols.join(", ")}</dd>
</dl>
<nav aria-label="Pages">
<ul>
${links.map(linkItem)}</ul>
</nav>
<h2>Try it</h2>
${commands.map(commandFigure)}<p class="muted">A token for testing: <code>npx platform-api token</code> on the machine of the server.</p>
<p class="muted"><a href="${licensesPath}">Licences of third-party software</a> in these pages.</p>
</main>
</body>
</html>
`;
  return text;
}

/** The style and the scripts of a page. */
function headElements(assets: ReadonlyMap<string, Asset>): Html {
  const [icon, style, script] = ["icon.svg", "page.css", "page.js"].map((name) => assets.get(name));
  if (icon === undefined || style === undefined || script === undefined) return html``;
  return html`<link rel="icon" href="${icon.path}" type="image/svg+xml">
<link rel="stylesheet" href="${style.path}">
<script src="${script.path}" defer></script>`;
}

function linkItem({ path, title, description }: HomeLink): Html {
  return html`<li><a href="${path}"><strong>${title}</strong><span>${description}</span></a></li>
`;
}

function commandFigure({ title, command }: { readonly title: string; readonly command: string }): Html {
  return html`<figure data-copy="${title}"><figcaption>${title}</figcaption><pre tabindex="0"><code>${command}</code></pre></figure>
`;
}
