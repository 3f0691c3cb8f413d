/**
 * The text form of gRPC-Web, for clients that read answers as text: bodies are base64. A body may consist of several
 * pieces, each with its own padding.
 *
 * Follows: gRPC-Web (PROTOCOL-WEB.md).
 */
import { invalid } from "../../errors.ts";

const textType = /^application\/grpc-web-text(?=[+;]|$)/;
const binaryType = "application/grpc-web";

/** The content type of the same message in binary form; undefined for one that is not in text form. */
export function binaryTypeOf(contentType: string): string | undefined {
  return textType.test(contentType) ? contentType.replace(textType, binaryType) : undefined;
}

/** The content type of the text form of a message in binary form. */
export function textTypeOf(contentType: string): string {
  return contentType.replace(binaryType, `${binaryType}-text`);
}

const groups = /^(?:[\w+/-]{4}|[\w+/-]{3}=|[\w+/-]{2}==)*$/;

/** Decodes a body. Errors: INVALID_ARGUMENT. */
export async function* fromBase64(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = "";
  for await (const bytes of body) {
    const text = rest + Buffer.from(bytes).toString("latin1");
    const end = text.length - (text.length % 4);
    rest = text.slice(end);
    if (end > 0) yield decode(text.slice(0, end));
  }
  if (rest !== "") throw refusal();
}

/** Whole groups of four characters. */
function decode(text: string): Uint8Array {
  if (!groups.test(text)) throw refusal();
  return Buffer.concat(text.split(/(?<==)(?!=)/).map((piece) => Buffer.from(piece, "base64")));
}

function refusal() {
  return invalid({ field: "", description: "the body is not valid base64" });
}

/** Encodes a body, each of its chunks as one piece. */
export async function* toBase64(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const bytes of body) yield Buffer.from(Buffer.from(bytes).toString("base64"), "latin1");
}
