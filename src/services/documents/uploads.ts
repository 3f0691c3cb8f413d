/**
 * Documents that are uploaded, while they are received and read. The pieces of a document are compressed as they come,
 * so that only a small part of each is held; one document at a time is unpacked and read.
 */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdCompress } from "node:zlib";
import type { Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type { HttpBody } from "../../../gen/google/api/httpbody_pb.ts";
import { invalid, unavailable } from "../../errors.ts";
import { FeedRefusal, readOnThread } from "../../feeds/index.ts";
import { DocumentNotes } from "../registry/document-notes.ts";
import { maxKeptBytes, unpackDocument } from "../registry/sbom-documents.ts";

/** Limit of a document in bytes, unpacked. */
export const maxUploadBytes = maxKeptBytes;

/** Default limit of compressed documents that are received or wait to be read, in bytes. */
const defaultMaxHeldBytes = 128 * 1024 * 1024;

/** Longest media type that is kept. */
const maxTypeLength = 255;

/** A document that was received. */
export interface ReceivedDocument {
  /** Its bytes, compressed. */
  readonly file: Uint8Array;
  /** The SHA-256 of its bytes: `sha256:…`. */
  readonly documentDigest: string;
  /** Unpacked, in bytes. */
  readonly size: bigint;
  /** The media type that it came with; "" if none. */
  readonly mediaType: string;
}

/** A message with a piece of a document. */
type Piece = Message & { readonly document?: HttpBody };

/** The uploads of a server. */
export class Uploads {
  readonly #maxHeldBytes: number;
  #heldBytes = 0;
  #turn: Promise<unknown> = Promise.resolve();

  /** @param maxHeldBytes of compressed documents that are received or wait to be read. */
  constructor(maxHeldBytes = defaultMaxHeldBytes) {
    this.#maxHeldBytes = maxHeldBytes;
  }

  /**
   * Receives a document and passes it to `work`. It counts as held until that is done. Errors: INVALID_ARGUMENT for one
   * that is empty, damaged or too large, UNAVAILABLE while too much is held, and those of the pieces and of `work`.
   */
  async receive<T>(first: Message, rest: AsyncIterable<Message>, work: (document: ReceivedDocument) => Promise<T>) {
    let held = 0;
    const hold = (bytes: number) => {
      if (this.#heldBytes + bytes > this.#maxHeldBytes) throw unavailable("too many documents are being uploaded");
      this.#heldBytes += bytes;
      held += bytes;
    };
    try {
      const mediaType = ((first as Piece).document?.contentType ?? "").slice(0, maxTypeLength);
      return await work({ ...(await receiveDocument(bytesOf(first, rest), hold)), mediaType });
    } finally {
      this.#heldBytes -= held;
    }
  }

  /**
   * Reads a document when it is its turn. Errors: INVALID_ARGUMENT for one that cannot be read; that of the signal of a
   * call that has ended until then.
   */
  async read<K extends Parameters<typeof readOnThread>[0]>(kind: K, { file }: ReceivedDocument, signal: AbortSignal) {
    const notes = new DocumentNotes();
    const read = this.#turn.then(async () => {
      signal.throwIfAborted();
      return readOnThread(kind, await unpackDocument(file), notes);
    });
    this.#turn = read.catch(() => {});
    try {
      return { read: await read, notes };
    } catch (error) {
      if (error instanceof FeedRefusal) throw invalid({ field: "document", description: error.message });
      throw error;
    }
  }
}

async function* bytesOf(first: Message, rest: AsyncIterable<Message>): AsyncGenerator<Uint8Array> {
  yield (first as Piece).document?.data ?? new Uint8Array();
  for await (const piece of rest) yield (piece as Piece).document?.data ?? new Uint8Array();
}

/** @param hold counts bytes that are held from now on. */
async function receiveDocument(
  pieces: AsyncGenerator<Uint8Array>,
  hold: (bytes: number) => void,
): Promise<Omit<ReceivedDocument, "mediaType">> {
  const head = await firstBytes(pieces, 2);
  async function* whole() {
    yield head;
    yield* pieces;
  }
  const source = Readable.from(whole());
  const hash = createHash("sha256");
  const compressed: Uint8Array[] = [];
  let size = 0;
  async function* counted(chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > maxUploadBytes)
        throw invalid({ field: "document", description: `has more than ${maxUploadBytes} bytes` });
      hash.update(chunk);
      yield chunk;
    }
  }
  async function collect(chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      hold(chunk.length);
      compressed.push(chunk);
    }
  }
  try {
    const isGzip = head[0] === 0x1f && head[1] === 0x8b;
    if (isGzip) await pipeline(source, createGunzip(), counted, createZstdCompress(), collect);
    else await pipeline(source, counted, createZstdCompress(), collect);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!(error instanceof ConnectError) && typeof code === "string" && /^Z_/.test(code))
      throw invalid({ field: "document", description: `is not gzip: ${(error as Error).message}` });
    throw error;
  }
  if (size === 0) throw invalid({ field: "document", description: "is empty" });
  return { file: Buffer.concat(compressed), documentDigest: `sha256:${hash.digest("hex")}`, size: BigInt(size) };
}

/** At least so many bytes, if there are. */
async function firstBytes(pieces: AsyncGenerator<Uint8Array>, count: number): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array();
  while (head.length < count) {
    const { done, value } = await pieces.next();
    if (done === true) break;
    head = head.length === 0 ? value : Buffer.concat([head, value]);
  }
  return head;
}
