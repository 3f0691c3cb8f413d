/** Calls through a transport, which end when their client disconnects. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { type Deadline, type HttpResponse, onGone } from "../message/index.ts";
import type { CallHeader } from "./headers.ts";
import type { DirectCalls } from "./options.ts";

/** Starts unary calls through any transport. */
export function beginThrough(transport: Transport): DirectCalls["begin"] {
  return (method, message, header, timeoutMs, _, contextValues) => {
    const controller = new AbortController();
    const input = message as MessageInitShape<typeof method.input>;
    return {
      answer: transport
        .unary(method, controller.signal, timeoutMs, (header as CallHeader).all(), input, contextValues)
        .then((answer) => ({ message: answer.message, touchedHeader: answer.header, touchedTrailer: answer.trailer })),
      cancel: () => controller.abort(),
    };
  };
}

/** Aborts when the client disconnects before its response is complete. */
export function abortedWith(response: HttpResponse): AbortSignal {
  const controller = new AbortController();
  onGone(response, () => controller.abort());
  return controller.signal;
}

/** The only message of an answer, which is then complete. */
export async function onlyOf<T>(messages: AsyncIterable<T>): Promise<T> {
  let only: T | undefined;
  for await (const message of messages) only ??= message;
  if (only === undefined) throw new ConnectError("Internal error", Code.Internal);
  return only;
}

/** The time-out for a transport of Connect, to which 0 means none. Errors: DEADLINE_EXCEEDED if no time is left. */
export function timeoutOf(deadline: Deadline | undefined): number | undefined {
  deadline?.check();
  return deadline && Math.max(1, deadline.leftMs());
}
