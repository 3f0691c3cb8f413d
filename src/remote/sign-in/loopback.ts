/** The loopback address at which a browser returns the answer of an authorization server (RFC 8252, section 7.3). */
import { createHash } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CommandFailure } from "../../command/index.ts";

const style = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 0.5rem; }
`;
const styleHash = createHash("sha256").update(style).digest("base64");

/** A listener for one answer. */
export interface Loopback {
  /** Where the browser is to return to. */
  readonly redirectUri: string;
  /** The URL with which the browser returned. `tell` answers the browser. */
  readonly returned: Promise<Returned>;
  close(): void;
}

/** A browser that waits for an answer. */
export interface Returned {
  readonly url: URL;
  /** Shows whether the sign-in succeeded. @param failure undefined if it did. */
  tell(failure: string | undefined): Promise<void>;
}

/** Listens on 127.0.0.1. @param port 0 for any. @param state only an answer with it counts. */
export async function listenOnLoopback(port: number, state: string): Promise<Loopback> {
  const { promise: returned, resolve } = Promise.withResolvers<Returned>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", redirectUri);
    if (request.method !== "GET" || url.pathname !== "/callback" || url.searchParams.get("state") !== state) {
      answer(response, 404, "Not found", "This address only takes the answer of a sign-in that was started here.");
      return;
    }
    resolve({ url, tell: (failure) => tell(response, failure) });
  });
  await new Promise<void>((done, fail) => {
    server.once("error", (error) =>
      fail(new CommandFailure(`cannot listen on 127.0.0.1:${port} for the browser: ${error.message}`)),
    );
    server.listen(port, "127.0.0.1", done);
  });
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  return { redirectUri, returned, close: () => close(server) };
}

async function tell(response: ServerResponse, failure: string | undefined): Promise<void> {
  const sent = new Promise<void>((done) => response.once("close", done));
  if (failure === undefined)
    answer(response, 200, "You are signed in", "Return to the terminal. You can close this window.");
  else answer(response, 400, "You are not signed in", `${failure} Return to the terminal to try again.`);
  await sent;
}

function answer(response: ServerResponse, httpStatus: number, title: string, text: string): void {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'`,
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    connection: "close",
  };
  response.writeHead(httpStatus, headers).end(page(title, text));
}

function page(title: string, text: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${style}</style>
<main><h1>${escaped(title)}</h1><p>${escaped(text)}</p></main>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (it) => `&#${it.charCodeAt(0)};`);
}

function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}
