/** The endpoints of pages. */
import { randomBytes } from "node:crypto";
import type { ConsoleIssuer } from "../config/index.ts";
import { type Endpoint, type Endpoints, readEndpoint } from "../http/index.ts";
import { chooseMediaType, type PortResponse, send } from "../message/index.ts";
import { type Asset, readAssets, readFolder, readLicenses } from "./assets.ts";
import { consolePage, consolePath, type Page } from "./console.ts";
import { coded, contentEndpoint } from "./content.ts";
import { contentSecurityPolicy, pageHeaders } from "./headers.ts";
import { type HomeFacts, homePage, licensesPath } from "./home.ts";
import { referencePage } from "./reference.ts";

/** What pages show. */
export interface PagesOptions {
  readonly home: HomeFacts;
  /** The OpenID providers that the console signs in with. */
  readonly issuers: readonly ConsoleIssuer[];
  /** The OpenAPI document of a version, as it is published. */
  openApi(version: "v1" | "v2", format: "json" | "yaml"): Promise<string>;
  /** The document of the viewer, in JSON. */
  viewerDocument(): Promise<string>;
  /** Answers when a document cannot be read. */
  onError(error: unknown, response: PortResponse): void;
}

/**
 * The endpoints by path: the front page, the reference, the console, the documents and what the pages load. That of
 * {@link consolePath} also takes the paths below it that are not listed.
 */
export function createPages({ home, issuers, openApi, viewerDocument, onError }: PagesOptions): Endpoints {
  const assets = readAssets();
  const files = readFolder("dist/console/assets/", `${consolePath}/assets/`);
  const [index] = readFolder("dist/console/", `${consolePath}/`);
  const document = (type: string, read: () => Promise<string>) =>
    contentEndpoint({ type, headers: { "cache-control": "no-cache" }, load: async () => coded(await read()), onError });
  return {
    "/": homeEndpoint(home, assets, onError),
    "/docs": page(() => {
      const nonce = randomBytes(16).toString("base64url");
      return { body: referencePage(home.title, assets, nonce), policy: contentSecurityPolicy(nonce) };
    }, onError),
    [consolePath]: consoleEndpoint(consolePage(home.title, index, issuers), onError),
    "/docs/openapi.json": document("application/json", viewerDocument),
    [licensesPath]: document("text/plain; charset=utf-8", readLicenses),
    "/openapi.json": document("application/json", () => openApi("v2", "json")),
    "/openapi.yaml": document("application/yaml", () => openApi("v2", "yaml")),
    "/openapi-v1.json": document("application/json", () => openApi("v1", "json")),
    "/openapi-v1.yaml": document("application/yaml", () => openApi("v1", "yaml")),
    ...Object.fromEntries([...assets.values(), ...files].map((asset) => [asset.path, assetEndpoint(asset, onError)])),
  };
}

type OnError = PagesOptions["onError"];

/** An endpoint that makes a page for each request. */
function page(make: () => Page | Promise<Page>, onError: OnError): Endpoint {
  return readEndpoint(async (_, response) => sendPage(response, await make()), onError);
}

function sendPage(response: PortResponse, { body, policy }: Page) {
  const headers = {
    ...pageHeaders,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
    "cache-control": "no-store",
  };
  return send(response, { httpStatus: 200, headers, body });
}

/** The page of the console, except for files that it does not have. */
function consoleEndpoint(make: () => Promise<Page>, onError: OnError): Endpoint {
  const answer = page(make, onError);
  return (request, response) => !request.url?.startsWith(`${consolePath}/assets/`) && answer(request, response);
}

/** HTML for browsers, JSON for everybody else. */
function homeEndpoint(home: HomeFacts, assets: ReadonlyMap<string, Asset>, onError: OnError): Endpoint {
  const body = homePage(home, assets);
  const json = `${JSON.stringify(home, undefined, 2)}\n`;
  return readEndpoint(({ headers: { accept } }, response) => {
    response.setHeader("vary", "accept");
    if (chooseMediaType(accept, ["application/json", "text/html"]) === "text/html")
      return sendPage(response, { body, policy: contentSecurityPolicy() });
    const headers = { ...pageHeaders, "content-type": "application/json", "cache-control": "no-store" };
    return send(response, { httpStatus: 200, headers, body: json });
  }, onError);
}

/** A file never changes under its name. It is read when somebody asks, since browsers keep it. */
function assetEndpoint({ type, read }: Asset, onError: OnError): Endpoint {
  const headers = { ...pageHeaders, "cache-control": "public, max-age=31536000, immutable" };
  return contentEndpoint({ type, headers, load: read, onError });
}
