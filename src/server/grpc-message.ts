/**
 * `grpc-message` as the gRPC protocol over HTTP/2 spells it: percent-encoded are only `%` and what is not printable ASCII. Connect encodes every
 * reserved character as well, and clients that decode only what the protocol encodes would show `Not found%3A`.
 */
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";

/** The same response, its message respelled in header and trailer. */
export function withGrpcMessage(response: UniversalServerResponse): UniversalServerResponse {
  const { header, trailer, body } = response;
  respellGrpcMessage(header);
  if (trailer === undefined || body === undefined) return response;
  return { ...response, body: respellingAtEnd(body, trailer) };
}

/** Respells the message in place, if there is one. */
export function respellGrpcMessage(headers: Headers | undefined): void {
  const message = headers?.get("grpc-message");
  if (message) headers?.set("grpc-message", decodeURIComponent(message).replace(/[^ -$&-~]+/gu, encodeURIComponent));
}

/** Trailers are complete when the body is. */
async function* respellingAtEnd(body: AsyncIterable<Uint8Array>, trailer: Headers): AsyncGenerator<Uint8Array> {
  yield* body;
  respellGrpcMessage(trailer);
}
