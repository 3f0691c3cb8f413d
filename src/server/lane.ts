/**
 * What the fast lanes of gRPC and Connect have in common. A lane takes a call by its headers alone; what then turns out not to be plain is handed
 * back with all that was read, so that the full door answers for it: a lane knows no protocol error of its own. A plain call whose message cannot be
 * read it refuses itself: the full door would read it by the same codecs.
 */
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { internal } from "../errors.ts";
import { andThen, settle } from "../eventually.ts";
import { unverifiedBytes } from "./incoming-bodies.ts";
import type { LocalAnswer } from "./local-call.ts";
import type { BegunCall, LocalTransport } from "./local-transport.ts";
import type { UnaryMethod } from "./unary-methods.ts";

/** What a lane is made from. */
export interface LaneOptions {
  readonly transport: LocalTransport;
  readonly methods: ReadonlyMap<string, UnaryMethod>;
  /** Whether a method needs no token: it takes no more than anybody may send. */
  isOpen?(method: DescMethod): boolean;
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

/** Bytes of one message that a method takes. */
export function readMaxBytesOf(
  { isOpen, readMaxBytes }: Pick<LaneOptions, "isOpen" | "readMaxBytes">,
  method: DescMethod,
): number {
  return isOpen?.(method) ? Math.min(unverifiedBytes, readMaxBytes) : readMaxBytes;
}

/** Refuses a message that is too long to be sent. */
export function checkLength(length: number, { writeMaxBytes }: Pick<LaneOptions, "writeMaxBytes">): void {
  if (length > writeMaxBytes)
    throw new ConnectError(`the answer has ${length} bytes, more than ${writeMaxBytes}`, Code.ResourceExhausted);
}

/** Reads a message; of one that cannot be read, the error, INVALID_ARGUMENT. */
export function readOrRefuse(read: () => Message): Message | ConnectError {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConnectError) return error;
    throw error;
  }
}

/** Begins a call with a message; without one it has failed already. */
export function beginCall(begin: (message: Message) => BegunCall, message: Message | ConnectError): BegunCall {
  if (!(message instanceof ConnectError)) return begin(message);
  const answer = Promise.reject(message);
  return { answer, touched: { touchedHeader: undefined, touchedTrailer: undefined }, cancel() {} };
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
