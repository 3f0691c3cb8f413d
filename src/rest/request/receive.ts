/** Receives the messages of a request: one, or those of a client stream. */
import type { Message } from "@bufbuild/protobuf";
import { type Awaitable, chain } from "../../awaitable.ts";
import {
  checkBodyHeaders,
  declaredLength,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  type PortRequest,
  type PortResponse,
  readBody,
} from "../../message/index.ts";
import type { RestMethod } from "../binding.ts";
import type { RestOptions } from "../options.ts";
import { checkStreamHeaders, readClientStream } from "./client-stream.ts";
import type { RequestReader } from "./request.ts";

/** A request that has been routed. */
export interface Incoming {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly segments: readonly string[];
  readonly query: string;
}

/** How the requests of a method are read. */
interface Reading {
  readonly method: RestMethod;
  readonly reader: RequestReader;
  readonly maxBodyBytes: number;
  /** Of all pieces of a raw client stream. */
  readonly maxStreamBytes: number;
  readonly options: Pick<RestOptions, "sendsContinue" | "watchBody" | "limits">;
}

/** The only message. Errors: INVALID_ARGUMENT, 413, 415, CANCELED if the client has gone. */
export function receiveMessage(
  incoming: Incoming,
  { method, reader, maxBodyBytes, options }: Reading,
): Awaitable<Message> {
  const { request, response, segments, query } = incoming;
  const { watchBody, limits } = options;
  const contentType = headerOf(request, "content-type") ?? "";
  const kind = reader.kindOf?.(contentType) ?? reader.kind;
  checkBodyHeaders(request, kind, maxBodyBytes, limits?.settings?.body, reader.moreTypes);
  const complete = reader.begin(segments, query);
  sendContinue(incoming, options);
  const watch = declaredLength(request) === 0 ? undefined : watchBody?.(request, response, method);
  return chain(readBody(request, kind, maxBodyBytes, watch, limits?.settings?.body), (bytes) =>
    complete({ bytes, contentType }),
  );
}

/** The messages of a client stream, read as the call asks for them. Errors: those of header, path and query. */
export function receiveStream(
  incoming: Incoming,
  { method, reader, maxBodyBytes, maxStreamBytes, options }: Reading,
): AsyncIterable<Message> {
  const { response, segments, query } = incoming;
  const request = incoming.request as PortRequest;
  const isRaw = reader.kind === "raw";
  checkStreamHeaders(request, reader.kind, isRaw ? maxStreamBytes : Number.POSITIVE_INFINITY);
  reader.begin(segments, query);
  sendContinue(incoming, options);
  const watch = options.watchBody?.(request, response, method);
  return readClientStream(request, { reader, segments, query, maxBytes: isRaw ? maxStreamBytes : maxBodyBytes, watch });
}

/** Asks for the body of a client that waits before it sends one. */
function sendContinue({ request, response }: Incoming, { sendsContinue = false }: Reading["options"]): void {
  if (sendsContinue && declaredLength(request) > 0 && headerOf(request, "expect")?.toLowerCase() === "100-continue")
    (response as PortResponse).writeContinue();
}
