/**
 * A receiver of events on this machine. It keeps what it is sent, by the path that it was sent to, and answers as it is
 * told.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Json } from "./contract.ts";

/** One delivery. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A running receiver. */
export interface EventSink {
  /** The address for a path: `/a`. */
  url(path: string): string;
  /** Everything that came, in the order in which it came. */
  readonly received: readonly Received[];
  /** What came to a path. */
  at(path: string): readonly Received[];
  close(): Promise<void>;
}

/** Starts one; `answer` answers in place of 200. */
export async function startSink(
  answer: (received: Received, response: ServerResponse) => void = (_received, response) => response.end(),
): Promise<EventSink> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const delivery = { path: request.url ?? "", headers: request.headers, body: await buffer(request) };
    received.push(delivery);
    answer(delivery, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    received,
    at: (path) => received.filter((delivery) => delivery.path === path),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** An event's type without what all of them begin with and end with: `iam.group.created`. */
export function shortType({ headers }: Received): string {
  return String(headers["ce-type"])
    .replace(/^dev\.platform\.api\./, "")
    .replace(/\.v1$/, "");
}

/** The body of an event as JSON. */
export function jsonOf({ body }: Received): Json {
  return JSON.parse(body.toString("utf8"));
}
