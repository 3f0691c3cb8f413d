/**
 * Encodes `grpc-message` as the gRPC protocol requires: only `%` and what is not printable ASCII is percent-encoded.
 * Connect encodes every reserved character as well, which strict clients would show as `Not found%3A`.
 */
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";

/** The same response with the message encoded anew in its header and trailer. */
export function withGrpcMessage(response: UniversalServerResponse): UniversalServerResponse {
  const { header, trailer, body } = response;
  encodeGrpcMessage(header);
  if (trailer === undefined || body === undefined) return response;
  return { ...response, body: encodingAtEnd(body, trailer) };
}

/** Encodes the message anew, in place, if there is one. */
export function encodeGrpcMessage(headers: Headers | undefined): void {
  const message = headers?.get("grpc-message");
  if (message) headers?.set("grpc-message", decodeURIComponent(message).replace(/[^ -$&-~]+/gu, encodeURIComponent));
}

/** Trailers are complete once the body is. */
async function* encodingAtEnd(body: AsyncIterable<Uint8Array>, trailer: Headers): AsyncGenerator<Uint8Array> {
  yield* body;
  encodeGrpcMessage(trailer);
}
