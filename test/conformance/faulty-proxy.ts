/**
 * A proxy before a server that alters requests and answers over HTTP/1.1: of REST, and of Connect with JSON. HTTP/2, as
 * gRPC has it, passes unaltered.
 */
import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { Json } from "./contract.ts";

/** A request or its answer; what is changed in place is sent. */
export interface ProxiedRequest {
  readonly method: string;
  url: URL;
  readonly headers: IncomingHttpHeaders;
  body: string;
}

/** An answer in JSON. */
export interface ProxiedAnswer {
  readonly json: Json;
  readonly status: number;
  /** Set to leave the content type out. */
  readonly isUntyped?: boolean;
}

/** What is wrong with a server. */
export interface Fault {
  request?(request: ProxiedRequest): void;
  /** Returns what is sent instead of an answer. */
  answer?(answer: ProxiedAnswer, request: ProxiedRequest): ProxiedAnswer;
}

/** Starts the proxy for one test. Returns its base URL. */
export async function startFaultyProxy(baseUrl: string, faults: readonly Fault[]): Promise<string> {
  const http = createServer(async (incoming, response) => {
    const request = {
      method: incoming.method!,
      url: new URL(incoming.url!, baseUrl),
      headers: { ...incoming.headers },
      body: (await buffer(incoming)).toString("latin1"),
    };
    for (const fault of faults) fault.request?.(request);
    for (const name of ["host", "connection", "content-length", "accept-encoding"]) delete request.headers[name];
    const answer = await fetch(request.url, {
      method: request.method,
      headers: request.headers as Record<string, string>,
      ...(request.body !== "" && { body: Buffer.from(request.body, "latin1") }),
    });
    let bytes = Buffer.from(await answer.arrayBuffer());
    let { status } = answer;
    let isUntyped = false;
    if (bytes.length > 0) {
      let altered: ProxiedAnswer = { json: JSON.parse(bytes.toString()), status };
      for (const fault of faults) {
        altered = fault.answer?.(altered, request) ?? altered;
        isUntyped ||= altered.isUntyped === true;
      }
      bytes = Buffer.from(JSON.stringify(altered.json));
      status = altered.status;
    }
    const headers = [...answer.headers].filter(
      ([name]) =>
        !(isUntyped && name === "content-type") &&
        !/^(content-length|content-encoding|connection|keep-alive|transfer-encoding)$/.test(name),
    );
    response.writeHead(status, Object.fromEntries(headers)).end(bytes);
  });
  const { hostname, port } = new URL(baseUrl);
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket.setNoDelay(true).on("error", () => {}));
    socket.once("data", (first) => {
      socket.pause();
      socket.unshift(first);
      if (!first.toString("latin1").startsWith("PRI ")) {
        http.emit("connection", socket);
        socket.resume();
        return;
      }
      const upstream = connect({ port: Number(port), host: hostname, noDelay: true }).on("error", () =>
        socket.destroy(),
      );
      sockets.add(upstream);
      socket.pipe(upstream).pipe(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
