/**
 * Downloads from a URL given by the operator, which may be any address, also over http. A redirect must be to the same
 * host, and not from https to http, or to a public host over https, checked as in `outbound.ts`. The body is streamed.
 * A stalled download is aborted.
 */
import type { Client } from "undici";
import { judgedLookup, OutboundRefused, parseOutboundUrl, type Resolve, resolveBySystem } from "../../outbound.ts";
import { FeedBroken } from "./feed.ts";

/** Options of {@link download}. */
interface DownloadOptions {
  readonly signal?: AbortSignal;
  /** Longest time without data, 30 s by default. */
  readonly stallMs?: number;
  /** Replaces the system's resolver for hosts of redirects. */
  readonly resolve?: Resolve;
}

/** A started download. */
export interface Download {
  /** Last segment of the path of the URL; "feed" if it is empty. */
  readonly name: string;
  /** Content-Length, in bytes; undefined if absent. */
  readonly size: number | undefined;
  readonly body: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

const maxRedirects = 5;

/** Starts a download. Errors, also while the body is read: FeedBroken. */
export async function download(address: string, options: DownloadOptions = {}): Promise<Download> {
  const home = URL.parse(address);
  if (home === null || !/^https?:$/.test(home.protocol)) throw new FeedBroken("is not an http or https URL");
  if (home.username !== "" || home.password !== "") throw new FeedBroken("contains credentials, which are not sent");
  let url = home;
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const { status, headers, body, client } = await get(url, home, options);
    const location = headers.location;
    if (status === 200) {
      const length = Number(headers["content-length"]);
      const name = url.pathname.split("/").at(-1) || "feed";
      const size = Number.isSafeInteger(length) ? length : undefined;
      return { name, size, body: received(body, url), close: () => client.destroy() };
    }
    body.on("error", () => {}); // aborted on purpose
    await client.destroy();
    if (![301, 302, 303, 307, 308].includes(status) || typeof location !== "string")
      throw new FeedBroken(`${url.host} answers ${status}`);
    url = nextUrl(location, url, home);
  }
  throw new FeedBroken(`redirects more than ${maxRedirects} times`);
}

/** The target of a redirect. Errors: FeedBroken. */
function nextUrl(location: string, from: URL, home: URL): URL {
  const url = URL.parse(location, from.href);
  if (url === null) throw new FeedBroken("redirects to an invalid URL");
  if (url.hostname === home.hostname && /^https?:$/.test(url.protocol)) {
    if (home.protocol === "https:" && url.protocol !== "https:") throw new FeedBroken("redirects from https to http");
    return url;
  }
  try {
    return parseOutboundUrl(url.href, false);
  } catch (error) {
    if (!(error instanceof OutboundRefused)) throw error;
    throw new FeedBroken(`redirects to ${url.host}: ${error.message}`, { cause: error });
  }
}

async function get(url: URL, home: URL, { signal, stallMs = 30_000, resolve = resolveBySystem }: DownloadOptions) {
  const { Client } = await import("undici"); // on first use: the server never needs it
  const lookup = url.hostname === home.hostname ? {} : { lookup: judgedLookup(resolve) };
  const client: Client = new Client(url.origin, {
    allowH2: false,
    headersTimeout: stallMs,
    bodyTimeout: stallMs,
    connect: { ...lookup, timeout: stallMs },
  });
  signal?.addEventListener("abort", () => void client.destroy(signal.reason), { once: true });
  try {
    signal?.throwIfAborted();
    const answer = await client.request({
      method: "GET",
      path: url.pathname + url.search,
      headers: { "accept-encoding": "identity" },
    });
    return { status: answer.statusCode, headers: answer.headers, body: answer.body, client };
  } catch (error) {
    await client.destroy();
    throw downloadFailure(url, error);
  }
}

async function* received(body: AsyncIterable<Uint8Array>, url: URL): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw downloadFailure(url, error);
  }
}

function downloadFailure(url: URL, error: unknown): FeedBroken {
  const refused = error instanceof OutboundRefused;
  return new FeedBroken(`${refused ? "" : "no complete response from "}${url.host}: ${(error as Error).message}`, {
    cause: error,
  });
}
