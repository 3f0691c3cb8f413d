/**
 * The messages of a client stream, from the body of one request: each line of `application/x-ndjson`, or each piece of
 * a google.api.HttpBody as it comes, decompressed. Every message has the fields of path and query. A message is read
 * when the call asks for it, so that a client sends no faster than its messages are used.
 */
import { pipeline, Readable } from "node:stream";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type BodyWatch,
  type Coding,
  contentCodings,
  declaredLength,
  headerOf,
  invalidArgument,
  isRead,
  isUtf8,
  type PortRequest,
  parseCoding,
  Refusal,
  readBefore,
} from "../../message/index.ts";
import type { RequestReader } from "./request.ts";

/** What a client stream is read with. */
interface ClientStreamOptions {
  readonly reader: RequestReader;
  readonly segments: readonly string[];
  readonly query: string;
  /** The most bytes of one line, or of all pieces together, before and after decompression. */
  readonly maxBytes: number;
  readonly watch: BodyWatch | undefined;
}

/** Errors: 415 for a body of another type, or lines that are compressed; 413 for a body that is too long. */
export function checkStreamHeaders(request: PortRequest, kind: RequestReader["kind"], maxBytes: number): void {
  const length = declaredLength(request);
  if (length === 0) return;
  const coding = parseCoding(headerOf(request, "content-encoding"));
  if (coding === null)
    throw new Refusal(415, Code.InvalidArgument, "Invalid argument: unsupported content encoding", {
      "accept-encoding": contentCodings.join(", "),
    });
  if (kind === "json" && coding !== undefined)
    throw new Refusal(415, Code.InvalidArgument, "Invalid argument: a stream of messages must not be compressed");
  if (Number.isFinite(length) && length > maxBytes) throw tooLong("the body", maxBytes);
  if (kind === "json" && !isUtf8(headerOf(request, "content-type"), ["application/x-ndjson"]))
    throw new Refusal(415, Code.InvalidArgument, "Invalid argument: the body must be application/x-ndjson in UTF-8", {
      accept: "application/x-ndjson",
    });
}

/**
 * Reads the messages. Errors: INVALID_ARGUMENT, 413 for a message that is too long, CANCELED if the client has gone.
 */
export async function* readClientStream(request: PortRequest, options: ClientStreamOptions): AsyncIterable<Message> {
  const { reader, segments, query } = options;
  const contentType = headerOf(request, "content-type") ?? "";
  await options.watch?.begin();
  const pieces = reader.kind === "raw" ? piecesOrEmpty(request, options) : linesOf(request, options);
  for await (const bytes of pieces) yield reader.begin(segments, query)({ bytes, contentType });
}

/** The pieces; an empty one if there are none, so that the call gets the fields of the path and the content type. */
async function* piecesOrEmpty(request: PortRequest, options: ClientStreamOptions): AsyncIterable<Uint8Array> {
  let isEmpty = true;
  const coding = isRead(request) ? undefined : parseCoding(headerOf(request, "content-encoding"));
  const limited = () => limitedTo(options.maxBytes, piecesOf(request, options));
  const decoded = coding ? limitedTo(options.maxBytes, decompressed(limited(), coding)) : limited();
  for await (const piece of decoded) {
    isEmpty = false;
    yield piece;
  }
  if (isEmpty) yield new Uint8Array();
}

async function* piecesOf(request: PortRequest, { reader, watch }: ClientStreamOptions): AsyncIterable<Uint8Array> {
  if (isRead(request)) return void (yield readBefore(request, reader.kind === "raw"));
  try {
    // The response is still to be sent on the connection of a request that is not read to its end. Over HTTP/2 a body
    // that was cut off ends like any other.
    for await (const piece of (request as Readable).iterator({ destroyOnReturn: false })) {
      await watch?.take(piece.length);
      yield piece;
    }
    if (request.aborted) throw new ConnectError("the client has gone", Code.Canceled);
  } catch (error) {
    if (error instanceof ConnectError || error instanceof Refusal) throw error;
    throw new ConnectError("the client has gone", Code.Canceled);
  }
}

const newline = 10;

/** The lines that are not empty. */
async function* linesOf(request: PortRequest, options: ClientStreamOptions): AsyncIterable<Uint8Array> {
  const { maxBytes } = options;
  let begun: Uint8Array[] = [];
  let length = 0;
  const add = (piece: Uint8Array) => {
    length += piece.length;
    if (length > maxBytes) throw tooLong("a message", maxBytes);
    begun.push(piece);
  };
  const line = () => {
    const bytes = Buffer.concat(begun);
    begun = [];
    length = 0;
    return bytes;
  };
  for await (let piece of piecesOf(request, options)) {
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline)) {
      add(piece.subarray(0, end));
      piece = piece.subarray(end + 1);
      const bytes = line();
      if (!isBlank(bytes)) yield bytes;
    }
    add(piece);
  }
  const last = line();
  if (!isBlank(last)) yield last;
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 32 || byte === 9 || byte === 13);
}

function tooLong(what: string, maxBytes: number): Refusal {
  return new Refusal(413, Code.ResourceExhausted, `Resource exhausted: ${what} is larger than ${maxBytes} bytes`);
}

async function* limitedTo(maxBytes: number, pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let length = 0;
  for await (const piece of pieces) {
    length += piece.length;
    if (length > maxBytes) throw tooLong("the body", maxBytes);
    yield piece;
  }
}

/** Errors: INVALID_ARGUMENT for damaged compression, and those of the pieces. */
async function* decompressed(pieces: AsyncIterable<Uint8Array>, coding: Coding): AsyncIterable<Uint8Array> {
  const decoder = coding === "gzip" ? createGunzip() : createBrotliDecompress();
  pipeline(Readable.from(pieces), decoder, () => {}); // the decoder fails with what fails before it
  try {
    yield* decoder;
  } catch (error) {
    if (error instanceof ConnectError || error instanceof Refusal) throw error;
    throw invalidArgument([{ field: "", description: `the body is not ${coding}: ${(error as Error).message}` }]);
  }
}
