/** A server for a handler, with a client that speaks its protocol. */

import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server, type Http2Server } from "node:http2";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { createOnePort } from "../../src/http/port.ts";
import type { HttpRequest, HttpResponse } from "../../src/message/index.ts";
import type { RestHandler } from "../../src/rest/index.ts";
import type { Any } from "../rest/fixture.ts";

/** A complete answer. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  text: string;
  json: Any;
}

/** What is sent beside the path. */
export interface Call {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | undefined;
  /** Send the body without declaring its length. */
  chunked?: boolean;
}

function answerOf(status: number, headers: IncomingHttpHeaders, chunks: Uint8Array[]): Answer {
  const body = Buffer.concat(chunks);
  const text = body.toString();
  let json: Any;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status, headers, body, text, json };
}

/** A server and a client of it. */
export interface Client {
  readonly origin: string;
  call(path: string, call?: Call): Promise<Answer>;
  close(): void;
}

/** By HTTP/1.1, each call on a connection of its own. */
export async function http1Client(handler: RestHandler, configure?: (server: Server) => void): Promise<Client> {
  const server = createServer((request, response) => void handler(request, response));
  configure?.(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    call(path, { method = "GET", headers = {}, body, chunked = false } = {}) {
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      const length = chunked
        ? { "transfer-encoding": "chunked" }
        : body === undefined
          ? {}
          : { "content-length": Buffer.byteLength(body) };
      const request = httpRequest({
        host: "127.0.0.1",
        port,
        path,
        method,
        headers: { ...length, ...headers },
        agent: false,
      });
      request.once("error", reject).once("response", async (response) => {
        try {
          const chunks = await response.toArray();
          resolve(answerOf(response.statusCode ?? 0, response.headers, chunks));
        } catch (error) {
          reject(error);
        }
      });
      request.end(body);
      return promise;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** By HTTP/2, all calls in one session. */
export async function http2Client(handler: RestHandler): Promise<Client> {
  const server: Http2Server = createHttp2Server((request, response) => void handler(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return http2ClientOf((server.address() as AddressInfo).port, () => server.close());
}

/** By HTTP/2, to the server's own port, with the handler on the fast path. */
export async function fastPathClient(handler: RestHandler): Promise<Client> {
  const serve = (request: HttpRequest, response: HttpResponse) => void handler(request, response);
  const port = createOnePort({ onRequest: serve, planFastPath: () => serve, refusalBody: () => "{}" });
  const { port: number } = await port.listen({ host: "127.0.0.1", port: 0 });
  return http2ClientOf(number, () => void port.close({ graceMs: 0 }));
}

function http2ClientOf(port: number, closeServer: () => void): Client {
  const origin = `http://127.0.0.1:${port}`;
  const session = connectHttp2(origin);
  return {
    origin,
    async call(path, { method = "GET", headers = {}, body, chunked = false } = {}) {
      const length = body === undefined || chunked ? {} : { "content-length": String(Buffer.byteLength(body)) };
      const stream = session.request(
        { ":method": method, ":path": path, ...length, ...headers },
        { endStream: body === undefined },
      );
      if (body !== undefined) {
        stream.end(body);
      }
      const [head] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status": number }];
      return answerOf(head[":status"], head, await stream.toArray());
    },
    close: () => {
      session.destroy();
      closeServer();
    },
  };
}

/** A call with a JSON body. */
export const json = (value: unknown, method = "POST"): Call => ({
  method,
  headers: { "content-type": "application/json" },
  body: typeof value === "string" ? value : JSON.stringify(value),
});

/** Sends a head, then, when something has come back, a body; gives all that came back. */
export async function exchange(port: number, head: string, body?: string): Promise<string> {
  const socket = connectTcp(port, "127.0.0.1");
  const chunks: Uint8Array[] = [];
  socket.write(head);
  socket.on("data", (chunk) => {
    if (chunks.push(chunk) === 1) {
      if (body === undefined) {
        socket.end();
      } else {
        socket.write(body);
      }
    }
  });
  await once(socket, "close");
  return Buffer.concat(chunks).toString();
}
