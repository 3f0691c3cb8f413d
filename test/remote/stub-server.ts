/** Servers that give the answers of a test. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { json, text } from "node:stream/consumers";

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
export async function startForeign(status: number, type: string, body: string) {
  return listen((incoming, response) => {
    incoming.resume();
    response.writeHead(status, { "content-type": type }).end(body);
  });
}

/** Starts a server that passes everything on to `server`, except for paths that it answers itself: with an error. */
export async function startProxy(server: string, errors: Readonly<Record<string, object>>) {
  return listen(async (incoming, response) => {
    const body = await text(incoming);
    const own = errors[incoming.url ?? ""];
    if (own !== undefined) {
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify(own));
      return;
    }
    const { authorization = "", "content-type": type = "" } = incoming.headers;
    const answer = await fetch(`${server}${incoming.url}`, {
      method: incoming.method!,
      headers: { authorization, "content-type": type, "connect-protocol-version": "1" },
      ...(incoming.method === "POST" && { body }),
    });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(await answer.text());
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
