/** The answer of a call that has one response message. */
import type { OutgoingHttpHeaders } from "node:http";
import type { Message } from "@bufbuild/protobuf";
import type { Awaitable } from "../awaitable.ts";
import { type StoredMessage, wholeMessage } from "../codec/index.ts";
import { type Answer, type Deadline, type HttpResponse, send } from "../message/index.ts";
import type { RestAnswer } from "./options.ts";
import type { PayloadWriter } from "./payload.ts";

/** Sends it, as `rewrite` changes it. `payload`: undefined for no content. Errors: DEADLINE_EXCEEDED. */
export function sendMessage(
  response: HttpResponse,
  message: Message | StoredMessage,
  headers: OutgoingHttpHeaders,
  payload: PayloadWriter | undefined,
  deadline: Deadline | undefined,
  rewrite: ((answer: RestAnswer, message: Message) => RestAnswer) | undefined,
): Awaitable<void> {
  const answer = answerOf(message, headers, payload, deadline);
  return send(response, rewrite === undefined ? answer : { ...answer, ...rewrite(answer, wholeMessage(message)) });
}

function answerOf(
  message: Message | StoredMessage,
  headers: OutgoingHttpHeaders,
  payload: PayloadWriter | undefined,
  deadline: Deadline | undefined,
): Answer {
  if (payload === undefined) return { httpStatus: 200, headers, body: "", deadline };
  if (payload.kind === "json") {
    headers["content-type"] = "application/json";
    return { httpStatus: 200, headers, body: payload.write(message), deadline };
  }
  const { contentType, data } = payload.write(message);
  if (contentType !== "") headers["content-type"] = contentType;
  return { httpStatus: 200, headers, body: data, isRaw: true, deadline };
}
