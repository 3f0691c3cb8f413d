/** Connect and gRPC-Web clients: Connect's own transports, on messages in their JSON form. */
import { type DescMethodUnary, fromJson, toJson } from "@bufbuild/protobuf";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import type { Json } from "./contract.ts";
import { type Outcome, unpackDetail } from "./outcome.ts";

/** The ways in which Connect's clients can speak to the port. */
export const connectTransports = {
  connect: (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
  "connect binary over HTTP/2": (baseUrl: string) =>
    createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true }),
  "connect GET": (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1", useHttpGet: true }),
  "grpc-web": (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  "grpc-web over HTTP/2": (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
} as const;

/** Makes the call. */
export async function callOverConnect(
  transport: Transport,
  method: DescMethodUnary,
  request: Json,
  headers: Readonly<Record<string, string>>,
  timeoutMs?: number,
): Promise<Outcome> {
  try {
    const answer = await transport.unary(
      method,
      undefined,
      timeoutMs,
      headers,
      fromJson(method.input, request) as never,
    );
    const message = toJson(method.output, answer.message, { alwaysEmitImplicit: true });
    return { ok: true, message: withMilliseconds(message), header: (name) => answer.header.get(name) };
  } catch (reason) {
    if (!(reason instanceof ConnectError)) throw reason;
    const details = reason.details.map((detail) => {
      if (!("type" in detail)) throw reason;
      return unpackDetail(detail.type, detail.value);
    });
    const status = { code: reason.code as number, message: reason.rawMessage, details };
    return { ok: false, status, header: (name) => reason.metadata.get(name) };
  }
}

/** The library leaves zeros of a fraction out; the platform's own writers never do. */
function withMilliseconds(json: Json): Json {
  if (Array.isArray(json)) return json.map(withMilliseconds);
  if (typeof json === "object" && json !== null)
    return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, withMilliseconds(value)]));
  const isInstant = typeof json === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(json);
  return isInstant ? new Date(json).toISOString() : json;
}
