/** A server that gives the answers of a test to any call. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** What a call is answered: the JSON of a response or, with another status, of an error of Connect. */
export type Answer = readonly [status: number, body: object];

/** Starts a server. `answer` gets the request of a call. Returns its address, and how to stop it. */
export async function startStub(answer: (request: Record<string, unknown>) => Answer | Promise<Answer>) {
  const server = createServer(async (incoming, response) => {
    const [status, body] = await answer((await json(incoming)) as Record<string, unknown>);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => void server.close(),
  };
}
