/**
 * Decodes the requests of unary calls that do not take the fast path as the fast path does: with this server's codecs
 * and their limits. Connect's handlers are given an empty message in place of each request message; {@link messageOf}
 * returns the decoded one.
 *
 * The body of a request throws what is wrong with it, so that each protocol sends the error in its own form. A request
 * that has not exactly one message is passed on without its content, for Connect's handlers to refuse.
 */
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextKey, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { type Compression, createAsyncIterable, type UniversalServerRequest } from "@connectrpc/connect/protocol";
import { flagOf } from "../../config/index.ts";
import { invalid } from "../../errors.ts";
import { unverifiedBytes } from "../../http/index.ts";
import { formatLimit } from "../../message/index.ts";
import type { UnaryMethod } from "../unary/methods.ts";

/** How requests are read. */
interface RequestReading {
  /** Maximum size of a message in bytes, before and after decompression. */
  readonly readMaxBytes: number;
  readonly compressions: readonly Compression[];
}

const messageKey = createContextKey<Message | undefined>(undefined);

/** The message of a call: the one that was decoded here, or else the one that Connect's handler decoded. */
export function messageOf(context: HandlerContext, given: Message): Message {
  return context.values.get(messageKey) ?? given;
}

/** The request for Connect's handler. Its body decodes the message when it is read. */
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
    return isJson ? emptyJson : emptyMessage;
  };
  if (contentType.startsWith("application/grpc")) {
    const compression = reading.compressions.find(({ name }) => name === header.get("grpc-encoding"));
    return { ...request, contextValues, body: readEnvelope(bytesOf(body), compression, reading, note) };
  }
  const coding = header.get("content-encoding") ?? "identity";
  const compression = reading.compressions.find(({ name }) => name === coding);
  if (compression === undefined && coding !== "identity") return request;
  const uncoded = new Headers(header);
  uncoded.delete("content-encoding");
  uncoded.delete("content-length");
  const length = Number(header.get("content-length") ?? 0);
  return {
    ...request,
    header: uncoded,
    contextValues,
    body: readBody(bytesOf(body), length, compression, reading, note),
  };
}

/**
 * RESOURCE_EXHAUSTED for a message that is larger than `maxBytes`, before or after decompression: the fixed limit of
 * methods that need no token, or the setting. Its details are added when it is sent.
 */
function messageTooLarge(maxBytes: number): ConnectError {
  const limit = formatLimit(maxBytes, maxBytes === unverifiedBytes ? undefined : flagOf("maxRequestBytes"));
  return new ConnectError(`Resource exhausted: the request message is larger than ${limit}`, Code.ResourceExhausted);
}

const emptyMessage = new Uint8Array();
const emptyJson = new TextEncoder().encode("{}");

/** Decodes a message and returns an empty one. Errors: INVALID_ARGUMENT. */
type Note = (bytes: Uint8Array) => Uint8Array;

function bytesOf(body: UniversalServerRequest["body"]): AsyncIterable<Uint8Array> {
  return body as AsyncIterable<Uint8Array>; // the other form, parsed JSON, does not occur in Node
}

async function* readBody(
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
  const messages: Buffer[] = [];
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
      const isComplete = size >= prefixBytes + length;
      if (isComplete) messages.push(bytes.subarray(0, prefixBytes + length));
      const rest = isComplete ? bytes.subarray(prefixBytes + length) : bytes;
      pending = [rest];
      size = rest.length;
      needed = isComplete ? prefixBytes : prefixBytes + length;
    }
    if (messages.length > 1) break;
  }
  if (messages.length === 1 && size === 0) yield await readFlagged(messages[0]!, compression, readMaxBytes, note);
  else yield Buffer.concat([...messages.map((bytes) => envelope(bytes[0]!, emptyMessage)), ...pending]);
}

async function readFlagged(
  bytes: Buffer,
  compression: Compression | undefined,
  readMaxBytes: number,
  note: Note,
): Promise<Uint8Array> {
  const flags = bytes[0]!;
  const isCompressed = (flags & compressedFlag) !== 0;
  if (isCompressed && compression === undefined) return envelope(flags, emptyMessage);
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

/**
 * A call by GET (https://connectrpc.com/docs/protocol#unary-get-request) as one by POST; undefined if the query is not
 * that of a call.
 */
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
  const body = query.get("base64") === "1" ? readBase64(message) : createAsyncIterable([Buffer.from(message)]);
  return { ...request, method: "POST", header, body };
}

async function* readBase64(text: string) {
  if (!/^[\w+/-]*={0,2}$/.test(text)) throw invalid({ field: "", description: "the message is not valid base64" });
  yield Buffer.from(text, "base64");
}
