/**
 * The bytes of a request body, within a limit before and after decompression. What the headers already show to be
 * unacceptable is refused before a byte is awaited.
 */
import { promisify } from "node:util";
import { brotliDecompress, gunzip, type ZlibOptions } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { andThen, type Eventually, settle } from "../eventually.ts";
import { declaredLength, type HttpRequest, headerOf, type StreamedRequest } from "./http.ts";
import { CODINGS, type Coding, isJsonContentType, parseCoding } from "./negotiation.ts";
import { invalidArgument, Refusal } from "./status.ts";

/** What a binding takes as its body. */
export type BodyKind = "none" | "json" | "raw";

/** Decides about a body while it comes. Errors, of both: why it is not read any further. */
export interface BodyWatch {
  /** Asked before anything of the body is read or decoded. */
  begin(): Eventually<void>;
  /** Asked about each piece of a body that comes in pieces. Until the answer is there, nothing more is read. */
  take(bytes: number): Eventually<void>;
}

/**
 * Judges the headers of a request body.
 * Errors: INVALID_ARGUMENT (400) for a body where none belongs, 415 for its type or coding, 413 for its length, which names the `setting` of the limit.
 */
export function checkBodyHeaders(request: HttpRequest, kind: BodyKind, maxBytes: number, setting?: string): void {
  const length = declaredLength(request);
  if (length === 0) {
    return;
  }
  if (kind === "none") {
    if (Number.isFinite(length)) {
      throw unexpectedBody();
    }
    return;
  }
  if (parseCoding(headerOf(request, "content-encoding")) === null) {
    throw new Refusal(415, Code.InvalidArgument, "Invalid argument: unsupported content encoding", {
      "accept-encoding": CODINGS.join(", "),
    });
  }
  if (kind === "json" && !isJsonContentType(headerOf(request, "content-type"))) {
    throw new Refusal(415, Code.InvalidArgument, "Invalid argument: the body must be application/json in UTF-8", {
      accept: "application/json",
    });
  }
  if (Number.isFinite(length) && length > maxBytes) {
    throw tooLarge(maxBytes, setting);
  }
}

/**
 * Reads a body whose headers passed. Empty when there is none.
 * Errors: as `checkBodyHeaders`; those of the watch; INVALID_ARGUMENT for damaged compression, CANCELED when the client goes away.
 */
export function readBody(
  request: HttpRequest,
  kind: BodyKind,
  maxBytes: number,
  watch: BodyWatch | undefined,
  setting?: string,
): Eventually<Uint8Array> {
  if (declaredLength(request) === 0) {
    return NOTHING;
  }
  if (kind === "none") {
    return readAll(request as StreamedRequest, 0, unexpectedBody, undefined);
  }
  return andThen(watch?.begin(), () => readWatched(request, maxBytes, watch, setting));
}

function readWatched(
  request: HttpRequest,
  maxBytes: number,
  watch: BodyWatch | undefined,
  setting: string | undefined,
): Eventually<Uint8Array> {
  const coding = parseCoding(headerOf(request, "content-encoding"));
  const refuse = () => tooLarge(maxBytes, setting);
  const whole = "wholeBody" in request ? request.wholeBody : readAll(request, maxBytes, refuse, watch);
  if (coding === undefined || coding === null) {
    return whole;
  }
  return andThen(whole, (bytes) => (bytes.length === 0 ? bytes : decompress(bytes, coding, maxBytes, setting)));
}

const NOTHING = new Uint8Array();

function readAll(
  request: StreamedRequest,
  maxBytes: number,
  refuse: () => Error,
  watch: BodyWatch | undefined,
): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
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
    if (length > maxBytes) {
      return stop(refuse());
    }
    chunks.push(chunk);
    watchPiece(request, chunk.length, watch, stop);
  };
  const fail = () => reject(new ConnectError("the client has gone", Code.Canceled));
  request
    .on("data", take)
    .once("end", () => {
      request.off("close", fail); // which comes for every request, and an error is dear
      // Over HTTP/2 a body that was cut off ends, too.
      if (request.aborted) fail();
      else resolve(chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks));
    })
    .once("error", fail)
    .once("close", fail);
  return promise;
}

/** Has a watch decide about a piece that came; a request that it is not sure about waits. */
export function watchPiece(
  request: StreamedRequest,
  bytes: number,
  watch: BodyWatch | undefined,
  stop: (reason: unknown) => void,
): void {
  void settle(
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
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw tooLarge(maxBytes, setting);
    }
    throw invalidArgument([{ field: "", description: `the body is not valid ${coding}` }]);
  }
}

function unexpectedBody(): ConnectError {
  return invalidArgument([{ field: "", description: "this method takes no body" }]);
}

function tooLarge(maxBytes: number, setting: string | undefined): Refusal {
  const limit = toldLimit(maxBytes, setting);
  return new Refusal(413, Code.ResourceExhausted, `Resource exhausted: the request body is larger than ${limit}`);
}

/** A limit as errors tell it: `1024 bytes (--max-body)`. */
export function toldLimit(bytes: number, setting: string | undefined): string {
  return setting === undefined ? `${bytes} bytes` : `${bytes} bytes (${setting})`;
}
