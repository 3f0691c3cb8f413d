/** A server of HTTP/1.1 for a fetch handler, as Deno, Bun and others have it: Node's `fetch` types, and its sockets. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { onTestFinished } from "vitest";
import type { FetchHandler } from "../../../src/rest/index.ts";

/** Serves until the test ends. `onError` takes what the handler rejects with. Returns the origin. */
export async function serveFetch(handler: FetchHandler, onError: (error: unknown) => void = () => {}): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    try {
      const hasBody = incoming.headers["content-length"] !== undefined || incoming.headers["transfer-encoding"];
      const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
        method: incoming.method!,
        headers: incoming.headers as Record<string, string>,
        body: hasBody ? (Readable.toWeb(incoming) as never) : null,
        duplex: "half",
        signal: gone.signal,
      } as RequestInit);
      const response = await handler(request);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body === null) outgoing.end();
      else await pipeline(Readable.fromWeb(response.body as ReadableStream, { highWaterMark: 1 }), outgoing);
    } catch (error) {
      onError(error);
      outgoing.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
