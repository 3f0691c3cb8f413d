/**
 * What the fast lanes of gRPC and Connect have in common. A lane takes a call by its headers alone, before a byte is read; what then turns out not
 * to be plain is handed back with all that was read, so that the full door answers for it: a lane knows no protocol error of its own.
 */
import type { Readable } from "node:stream";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { internal } from "../errors.ts";
import { andThen, settle } from "../eventually.ts";
import type { LocalAnswer } from "./local-call.ts";
import type { BegunCall, LocalTransport } from "./local-transport.ts";
import type { UnaryMethod } from "./unary-methods.ts";

/** What a lane is made from. */
export interface LaneOptions {
  readonly transport: LocalTransport;
  readonly methods: ReadonlyMap<string, UnaryMethod>;
  /** Bytes of one message that comes in, and of one that goes out. */
  readonly readMaxBytes: number;
  readonly writeMaxBytes: number;
  /** A longer time-out is shortened to this. */
  readonly maxTimeoutMs: number;
  /** Completes an error in place before it is sent. */
  describeError(error: ConnectError, method: DescMethod): void;
  /** Told what kept an answer from being made or sent. */
  onError(error: unknown): void;
}

/** Reads a body whole, unless it is longer than `maxBytes`: then what was read and what is left is handed back. */
export function readWhole(
  body: Readable,
  maxBytes: number,
  onWhole: (bytes: Buffer) => void,
  handBack: (body: AsyncIterable<Uint8Array>) => void,
): void {
  if (body.readableEnded) return void onWhole(Buffer.alloc(0));
  const chunks: Buffer[] = [];
  let length = 0;
  const end = () => {
    // Node keeps a stream of HTTP/2 for some time after its end; it must not keep what was read from it.
    body.off("data", take);
    onWhole(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length));
  };
  const take = (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length <= maxBytes) return;
    body.off("data", take).off("end", end);
    body.pause();
    handBack(all(chunks, body.iterator({ destroyOnReturn: false })));
  };
  body.on("data", take).once("end", end);
}

/** A body that has been read, as one that is still to be read. */
export async function* all(read: readonly Uint8Array[], rest: AsyncIterable<Uint8Array> | readonly Uint8Array[] = []) {
  yield* read;
  yield* rest;
}

/** Refuses a message that is too long to be sent. */
export function checkLength(length: number, { writeMaxBytes }: Pick<LaneOptions, "writeMaxBytes">): void {
  if (length > writeMaxBytes)
    throw new ConnectError(`the answer has ${length} bytes, more than ${writeMaxBytes}`, Code.ResourceExhausted);
}

/** How a lane ends a call. */
export interface Ending {
  answer(answer: LocalAnswer): unknown;
  refuse(error: ConnectError): unknown;
  /** Nothing can be said any more. */
  giveUp(): void;
}

/** Answers a call, or refuses it, or gives up. */
export function endCall(
  { describeError, onError }: LaneOptions,
  method: DescMethod,
  call: BegunCall,
  ending: Ending,
): void {
  void settle(
    () =>
      settle(
        () => andThen(call.answer, (answer) => ending.answer(answer)),
        () => {},
        (reason) => {
          if (!(reason instanceof ConnectError)) onError(reason);
          const error = reason instanceof ConnectError ? reason : internal(reason);
          describeError(error, method);
          return ending.refuse(error);
        },
      ),
    () => {},
    (error) => {
      onError(error);
      ending.giveUp();
    },
  );
}
