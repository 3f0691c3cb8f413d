/** Servers that give the answers of a test. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** What a call is answered: the JSON of a response or, with another status, of an error of Connect. */
export type Answer = readonly [status: number, body: object];

/** Starts a server. `answer` gets the request of a call. Returns its address, and how to stop it. */
export async function startStub(answer: (request: Record<string, unknown>) => Answer | Promise<Answer>) {
  return listen(async (incoming, response) => {
    const [status, body] = await answer((await json(incoming)) as Record<string, unknown>);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
}

/** Starts a server of something else, which answers everything with the same text. */
export async function startForeign(status: number, type: string, text: string) {
  return listen((incoming, response) => {
    incoming.resume();
    response.writeHead(status, { "content-type": type }).end(text);
  });
}

async function listen(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => void server.close(),
  };
}
