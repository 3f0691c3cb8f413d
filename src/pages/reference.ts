/** The page of the API reference, whose viewer reads the OpenAPI document. */
import type { Asset } from "./assets.ts";
import { licensesPath } from "./home.ts";
import { html } from "./html.ts";

/** The page as HTML. `nonce`: of the style elements that the viewer makes. */
export function referencePage(title: string, assets: ReadonlyMap<string, Asset>, nonce: string): string {
  const [icon, style, adapter, viewer] = ["icon.svg", "viewer.css", "viewer.js", "scalar.js"].map((name) =>
    assets.get(name),
  );
  const isInstalled = icon !== undefined && style !== undefined && adapter !== undefined && viewer !== undefined;
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}: API reference</title>
<link rel="license" href="${licensesPath}">
<meta property="csp-nonce" content="${nonce}" nonce="${nonce}">
${
  isInstalled
    ? html`<link rel="icon" href="${icon.path}" type="image/svg+xml">
<link rel="stylesheet" href="${style.path}">
<script src="${adapter.path}"></script>
<script src="${viewer.path}" defer></script>`
    : ""
}
</head>
<body>
${
  isInstalled
    ? html`<div id="viewer"></div>
<p class="loading">Loading the API reference …</p>
<noscript><p>The viewer needs JavaScript. <a href="/openapi.json">The OpenAPI document</a> does not.</p></noscript>`
    : html`<main><h1>${title}</h1><p>The viewer is not installed here: <code>npm run prepare</code> in the checkout builds it.
<a href="/openapi.json">The OpenAPI document</a> is served all the same.</p></main>`
}
</body>
</html>
`;
  return text;
}
