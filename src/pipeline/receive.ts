/** Receives the requests that come in pieces, before the transactions of their calls begin. */
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { UnaryRequest } from "@connectrpc/connect";
import { type CallInterceptor, LocalCall, piecesOf, replaceMessage, timesOf } from "../call/index.ts";
import { provideEnvironment, provideReceived, type Receiver, type ServerEnvironment } from "../resource/index.ts";
import type { Database } from "../store/index.ts";

/** What {@link receive} needs. */
export interface ReceiveOptions {
  readonly database: Database;
  readonly environment: ServerEnvironment;
  /** The receiver of a method whose requests come in pieces; undefined for any other. */
  receiverOf(method: DescMethod): Receiver | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** It stands after authorization and validation, which have only the first piece. */
export function receive({ database, environment, receiverOf, now }: ReceiveOptions): CallInterceptor {
  return (next, method) => {
    const receiver = receiverOf(method);
    if (receiver === undefined) return next;
    return async (request) => {
      const pieces = piecesOf(request);
      if (pieces === undefined || !(request instanceof LocalCall)) throw new Error("the request is not in pieces");
      const { contextValues } = request;
      const nowMs = timesOf(request)?.nowMs ?? now();
      provideEnvironment(contextValues, environment, { nowMs, session: database.read });
      const first = (request as unknown as UnaryRequest).message as Message;
      const { message, value } = await receiver(first, whileUnderWay(pieces, request), request);
      replaceMessage(request, message);
      provideReceived(contextValues, value);
      return next(request);
    };
  };
}

/** The pieces until the call ends: one that is over is not received to its end. */
async function* whileUnderWay(pieces: AsyncIterable<Message>, call: LocalCall): AsyncGenerator<Message> {
  for await (const piece of pieces) {
    call.throwIfAborted();
    yield piece;
  }
  call.throwIfAborted();
}
