/** Local sinks, well-behaved and hostile. */
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { selfSigned } from "../http/self-signed.ts";

/** A request that a sink received. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly method: string;
  readonly path: string;
}

/** A sink that runs until the test ends. */
export interface LocalSink {
  readonly url: string;
  readonly received: Received[];
  /** Number of connections accepted so far. */
  readonly connections: () => number;
}

/** Starts a sink that answers the n-th request, from 0, with the result of `answer`. */
export function startSink(
  answer: (n: number, received: Received) => number | { status: number; headers: Record<string, string> } = () => 204,
): Promise<LocalSink> {
  const received: Received[] = [];
  return listen(received, (request, response) => {
    void buffer(request).then((body) => {
      const { headers, method = "", url: path = "" } = request;
      received.push({ headers, body: body.toString(), method, path });
      const given = answer(received.length - 1, received.at(-1)!);
      if (typeof given === "number") response.writeHead(given).end();
      else response.writeHead(given.status, given.headers).end();
    });
  });
}

/** Starts a sink that answers with a status and a body that never ends. */
export function startEndlessSink(status: number): Promise<LocalSink> {
  return listen([], (_request, response) => {
    response.writeHead(status);
    const chunk = "x".repeat(64 * 1024);
    const more = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", more);
    more();
  });
}

/** Hostile sinks by name. */
export const hostileSinks: Readonly<Record<string, () => Promise<LocalSink>>> = {
  "never answers": () => listen([], () => {}),
  "sends a byte now and then and no status": () =>
    raw((socket) => {
      const bytes = "HTTP/1.1 200 OK\r\n"[Symbol.iterator]();
      const timer = setInterval(() => socket.write(bytes.next().value ?? "x"), 100);
      socket.on("close", () => clearInterval(timer));
    }),
  "answers 500 a byte at a time": () =>
    listen([], (_request, response) => {
      response.writeHead(500);
      const timer = setInterval(() => response.write("x"), 100);
      response.on("close", () => clearInterval(timer));
    }),
  "answers 500 without end": () => startEndlessSink(500),
  "sends headers without end": () =>
    raw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const more = () => {
        while (!socket.destroyed && socket.write(`x-more: ${"x".repeat(8192)}\r\n`));
      };
      socket.on("drain", more);
      more();
    }),
  "redirects to itself": () =>
    startSink((_n, { headers }) => ({ status: 307, headers: { location: `http://${headers.host}/again` } })),
  "resets the connection": () => raw((socket) => socket.resetAndDestroy()),
  "closes the connection": () => raw((socket) => socket.end()),
  "speaks another protocol": () => raw((socket) => socket.end("220 mail.example.com ESMTP\r\n")),
  "has a self-signed certificate": async () => {
    const server = createTlsServer(selfSigned(), (_request, response) => response.writeHead(204).end());
    return { ...(await listening(server, [])), url: `https://localhost:${(server.address() as AddressInfo).port}/` };
  },
};

async function listen(received: Received[], listener: RequestListener): Promise<LocalSink> {
  return listening(createServer(listener), received);
}

function raw(onConnection: (socket: Socket) => void): Promise<LocalSink> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {}).resume();
    onConnection(socket);
  });
  return listening(server as Server, []);
}

async function listening(server: Server, received: Received[]): Promise<LocalSink> {
  let connections = 0;
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return { url, received, connections: () => connections };
}
