/**
 * The requests of unary calls through the full door, read as the fast lanes read theirs: by this server's codecs, within their limits. Connect's
 * handlers, which go on with the call, are given an empty message in place of each; {@link messageOf} gives what was read.
 *
 * What is wrong with a request, its body throws, so that each protocol tells it in its own way. What is no request of one message is left to Connect's
 * handlers to refuse, without its content.
 */
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextKey, createContextValues, type HandlerContext } from "@connectrpc/connect";
import type { Compression, UniversalServerRequest } from "@connectrpc/connect/protocol";
import { invalid } from "../errors.ts";
import { messageTooLarge } from "./size-limits.ts";
import type { UnaryMethod } from "./unary-methods.ts";

/** What requests are read with. */
export interface RequestReading {
  /** Bytes of one message, compressed or not. */
  readonly readMaxBytes: number;
  readonly compressions: readonly Compression[];
}

const messageKey = createContextKey<Message | undefined>(undefined);

/** The message of a call: what was read of its request, or else what Connect's handler gives. */
export function messageOf(context: HandlerContext, given: Message): Message {
  return context.values.get(messageKey) ?? given;
}

/** The request for Connect's handler, whose body reads the message when it is asked for. */
export function readByCodecs(
  method: UnaryMethod,
  request: UniversalServerRequest,
  reading: RequestReading,
): UniversalServerRequest {
  const { header, body } = request;
  const contentType = header.get("content-type") ?? "";
  const contextValues = request.contextValues ?? createContextValues();
  if (request.method === "GET") {
    const posted = postOf(request);
    return posted === undefined ? request : readByCodecs(method, posted, reading);
  }
  const isJson = /json/.test(contentType);
  const note = (bytes: Uint8Array) => {
    contextValues.set(messageKey, isJson ? method.readJson(bytes) : method.readBinary(bytes));
    return isJson ? emptyJson : nothing;
  };
  if (contentType.startsWith("application/grpc")) {
    const compression = reading.compressions.find(({ name }) => name === header.get("grpc-encoding"));
    return { ...request, contextValues, body: readEnvelope(bytesOf(body), compression, reading, note) };
  }
  const coding = header.get("content-encoding") ?? "identity";
  const compression = reading.compressions.find(({ name }) => name === coding);
  if (compression === undefined && coding !== "identity") return request;
  const plain = new Headers(header);
  plain.delete("content-encoding");
  plain.delete("content-length");
  const length = Number(header.get("content-length") ?? 0);
  return {
    ...request,
    header: plain,
    contextValues,
    body: readWhole(bytesOf(body), length, compression, reading, note),
  };
}

const nothing = new Uint8Array();
const emptyJson = new TextEncoder().encode("{}");

/** Reads a message, and gives an empty one. Errors: INVALID_ARGUMENT. */
type Note = (bytes: Uint8Array) => Uint8Array;

function bytesOf(body: UniversalServerRequest["body"]): AsyncIterable<Uint8Array> {
  return body as AsyncIterable<Uint8Array>; // Connect's other form, parsed JSON, is not for servers of Node
}

async function* readWhole(
  body: AsyncIterable<Uint8Array>,
  length: number,
  compression: Compression | undefined,
  { readMaxBytes }: RequestReading,
  note: Note,
) {
  if (length > readMaxBytes) throw messageTooLarge(readMaxBytes);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > readMaxBytes) throw messageTooLarge(readMaxBytes);
    chunks.push(chunk);
  }
  yield note(await inflated(Buffer.concat(chunks), compression, readMaxBytes));
}

const prefixBytes = 5;
const compressedFlag = 1;

async function* readEnvelope(
  body: AsyncIterable<Uint8Array>,
  compression: Compression | undefined,
  { readMaxBytes }: RequestReading,
  note: Note,
) {
  const whole: Buffer[] = [];
  let pending: Uint8Array[] = [];
  let size = 0;
  let needed = prefixBytes;
  for await (const chunk of body) {
    pending.push(chunk);
    size += chunk.length;
    while (size >= needed) {
      const bytes = Buffer.concat(pending, size);
      const length = bytes.readUInt32BE(1);
      if (length > readMaxBytes) throw messageTooLarge(readMaxBytes);
      const isWhole = size >= prefixBytes + length;
      if (isWhole) whole.push(bytes.subarray(0, prefixBytes + length));
      const rest = isWhole ? bytes.subarray(prefixBytes + length) : bytes;
      pending = [rest];
      size = rest.length;
      needed = isWhole ? prefixBytes : prefixBytes + length;
    }
    if (whole.length > 1) break;
  }
  if (whole.length === 1 && size === 0) yield await readFlagged(whole[0]!, compression, readMaxBytes, note);
  else yield Buffer.concat([...whole.map((bytes) => envelope(bytes[0]!, nothing)), ...pending]);
}

async function readFlagged(
  bytes: Buffer,
  compression: Compression | undefined,
  readMaxBytes: number,
  note: Note,
): Promise<Uint8Array> {
  const flags = bytes[0]!;
  const isCompressed = (flags & compressedFlag) !== 0;
  if (isCompressed && compression === undefined) return envelope(flags, nothing);
  const content = bytes.subarray(prefixBytes);
  const message = await inflated(content, isCompressed ? compression : undefined, readMaxBytes);
  return envelope(flags & ~compressedFlag, note(message));
}

function envelope(flags: number, content: Uint8Array): Uint8Array {
  return Buffer.from([flags, 0, 0, 0, content.length, ...content]);
}

async function inflated(
  bytes: Uint8Array,
  compression: Compression | undefined,
  readMaxBytes: number,
): Promise<Uint8Array> {
  if (compression === undefined) return bytes;
  try {
    return await compression.decompress(bytes, readMaxBytes);
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.ResourceExhausted) throw messageTooLarge(readMaxBytes);
    throw invalid({ field: "", description: `the message is not valid ${compression.name}` });
  }
}

/** A call by GET (https://connectrpc.com/docs/protocol#unary-get-request) as one by POST; undefined for what is no such call. */
function postOf(request: UniversalServerRequest): UniversalServerRequest | undefined {
  const query = new URL(request.url).searchParams;
  const encoding = query.get("encoding");
  if (encoding !== "json" && encoding !== "proto") return undefined;
  const header = new Headers(request.header);
  header.set("content-type", `application/${encoding}`);
  header.delete("content-length");
  const compression = query.get("compression");
  if (compression === null) header.delete("content-encoding");
  else header.set("content-encoding", compression);
  const message = query.get("message") ?? "";
  const body = query.get("base64") === "1" ? readBase64(message) : only(Buffer.from(message));
  return { ...request, method: "POST", header, body };
}

async function* readBase64(text: string) {
  if (!/^[\w+/-]*={0,2}$/.test(text)) throw invalid({ field: "", description: "the message is not valid base64" });
  yield Buffer.from(text, "base64");
}

async function* only(bytes: Uint8Array<ArrayBuffer>) {
  yield bytes;
}
