/**
 * Reads the body of a request, within a limit before and after decompression. A body that can be refused by its header
 * fields is refused before any of it is read.
 */

import { promisify } from "node:util";
import { brotliDecompress, gunzip, type ZlibOptions } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Awaitable, chain, tryChain } from "../awaitable.ts";
import { declaredLength, type HttpRequest, headerOf, type PortRequest } from "./message.ts";
import { type Coding, contentCodings, isJsonContentType, parseCoding } from "./negotiation.ts";
import { isRead, readBefore } from "./parsed-body.ts";
import { invalidArgument, Refusal } from "./refusal.ts";

/** The kind of body that a method takes. */
export type BodyKind = "none" | "json" | "raw";

/** Checks a body while it is received. Errors, of both: why it is not read any further. */
export interface BodyWatch {
  /** Called before any of the body is read or decoded. */
  begin(): Awaitable<void>;
  /** Called for each piece of a body that is not buffered. No more is read until it returns or resolves. */
  take(bytes: number): Awaitable<void>;
  /** Called when all of a body has been read that is not buffered. It is decoded once this returns or resolves. */
  complete?(): Awaitable<void>;
}

/**
 * Checks the header fields of a request body. `setting`: names the limit in errors. `moreTypes`: media types that are
 * taken besides those of JSON.
 * Errors: INVALID_ARGUMENT (400) for a body that the method does not take, 415 for its type or coding, 413 for its
 * length.
 */
export function checkBodyHeaders(
  request: HttpRequest,
  kind: BodyKind,
  maxBytes: number,
  setting?: string,
  moreTypes: readonly string[] = [],
): void {
  const length = declaredLength(request);
  if (length === 0) return;
  if (kind === "none") {
    if (Number.isFinite(length)) throw unexpectedBody();
    return;
  }
  if (parseCoding(headerOf(request, "content-encoding")) === null) {
    throw new Refusal(415, Code.InvalidArgument, "Invalid argument: unsupported content encoding", {
      "accept-encoding": contentCodings.join(", "),
    });
  }
  if (kind === "json" && !isJsonContentType(headerOf(request, "content-type"), moreTypes)) {
    const types = ["application/json in UTF-8", ...moreTypes].join(" or ");
    throw new Refusal(415, Code.InvalidArgument, `Invalid argument: the body must be ${types}`, {
      accept: ["application/json", ...moreTypes].join(", "),
    });
  }
  if (Number.isFinite(length) && length > maxBytes) throw tooLarge(maxBytes, setting);
}

/**
 * Reads a body whose header fields have been checked; empty if there is none.
 * Errors: as `checkBodyHeaders`; those of the watch; INVALID_ARGUMENT for damaged compression, CANCELED when the client
 * goes away.
 */
export function readBody(
  request: HttpRequest,
  kind: BodyKind,
  maxBytes: number,
  watch: BodyWatch | undefined,
  setting?: string,
): Awaitable<Uint8Array> {
  if (declaredLength(request) === 0) return emptyBody;
  if (!("bufferedBody" in request) && isRead(request)) {
    if (kind === "none") throw unexpectedBody();
    const body = readBefore(request, kind === "raw");
    if (body.length > maxBytes) throw tooLarge(maxBytes, setting);
    return body;
  }
  if (kind === "none") return readAll(request as PortRequest, 0, unexpectedBody, undefined);
  return chain(watch?.begin(), () => readWatched(request, maxBytes, watch, setting));
}

function readWatched(
  request: HttpRequest,
  maxBytes: number,
  watch: BodyWatch | undefined,
  setting: string | undefined,
): Awaitable<Uint8Array> {
  const coding = parseCoding(headerOf(request, "content-encoding"));
  const refuse = () => tooLarge(maxBytes, setting);
  const body = "bufferedBody" in request ? request.bufferedBody : readAll(request, maxBytes, refuse, watch);
  if (coding === undefined || coding === null) return body;
  return chain(body, (bytes) => (bytes.length === 0 ? bytes : decompress(bytes, coding, maxBytes, setting)));
}

const emptyBody = new Uint8Array();

function readAll(
  request: PortRequest,
  maxBytes: number,
  refuse: () => Error,
  watch: BodyWatch | undefined,
): Promise<Uint8Array> {
  let resolve!: (body: Uint8Array) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<Uint8Array>((onBody, onError) => {
    resolve = onBody;
    reject = onError;
  });
  const chunks: Uint8Array[] = [];
  let length = 0;
  const stop = (reason: unknown) => {
    request.off("data", take);
    request.pause();
    chunks.length = 0;
    reject(reason);
  };
  const take = (chunk: Uint8Array) => {
    length += chunk.length;
    if (length > maxBytes) return stop(refuse());
    chunks.push(chunk);
    watchPiece(request, chunk.length, watch, stop);
  };
  const fail = () => reject(new ConnectError("the client has gone", Code.Canceled));
  request
    .on("data", take)
    .once("end", () => {
      request.off("close", fail); // it is emitted for every request, and creating an error is expensive
      // Over HTTP/2 a body that was cut off also emits `end`.
      if (request.aborted) fail();
      else {
        const body = chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
        const completing = watch?.complete?.();
        if (completing instanceof Promise) void completing.then(() => resolve(body));
        else resolve(body);
      }
    })
    .once("error", fail)
    .once("close", fail);
  return promise;
}

/** Has a watch check a piece of a body. The request is paused until it has decided. */
export function watchPiece(
  request: PortRequest,
  bytes: number,
  watch: BodyWatch | undefined,
  stop: (reason: unknown) => void,
): void {
  void tryChain(
    () => {
      const decision = watch?.take(bytes);
      if (decision instanceof Promise) request.pause();
      return decision?.then(() => void request.resume());
    },
    () => {},
    stop,
  );
}

const inflaters: Readonly<Record<Coding, (body: Uint8Array, options: ZlibOptions) => Promise<Buffer>>> = {
  gzip: promisify<Uint8Array, ZlibOptions, Buffer>(gunzip),
  br: promisify<Uint8Array, ZlibOptions, Buffer>(brotliDecompress),
};

async function decompress(
  bytes: Uint8Array,
  coding: Coding,
  maxBytes: number,
  setting: string | undefined,
): Promise<Uint8Array> {
  try {
    return await inflaters[coding](bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxBytes, setting);
    throw invalidArgument([{ field: "", description: `the body is not valid ${coding}` }]);
  }
}

function unexpectedBody(): ConnectError {
  return invalidArgument([{ field: "", description: "this method takes no body" }]);
}

function tooLarge(maxBytes: number, setting: string | undefined): Refusal {
  const limit = formatLimit(maxBytes, setting);
  return new Refusal(413, Code.ResourceExhausted, `Resource exhausted: the request body is larger than ${limit}`);
}

/** A limit as errors show it: `1024 bytes (--max-body)`. */
export function formatLimit(bytes: number, setting: string | undefined): string {
  return setting === undefined ? `${bytes} bytes` : `${bytes} bytes (${setting})`;
}
