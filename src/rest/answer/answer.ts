/** The answer of a call that has one response message. */
import type { OutgoingHttpHeaders } from "node:http";
import type { Message } from "@bufbuild/protobuf";
import type { Awaitable } from "../../awaitable.ts";
import { type StoredMessage, wholeMessage } from "../../codec/index.ts";
import { type Answer, type Deadline, type HttpResponse, send } from "../../message/index.ts";
import type { RestAnswer } from "../options.ts";
import type { Representation } from "./representation.ts";

/** Sends it, as `rewrite` changes it. `form`: undefined for no content. Errors: DEADLINE_EXCEEDED. */
export function sendMessage(
  response: HttpResponse,
  message: Message | StoredMessage,
  headers: OutgoingHttpHeaders,
  form: Representation | undefined,
  deadline: Deadline | undefined,
  rewrite: ((answer: RestAnswer, message: Message) => RestAnswer) | undefined,
): Awaitable<void> {
  const answer = answerOf(message, headers, form, deadline);
  if (rewrite === undefined) return send(response, answer);
  const rewritten = { ...answer, ...rewrite(answer, wholeMessage(message)) };
  if (!(rewritten.httpStatus >= 200 && rewritten.httpStatus <= 599))
    throw new Error(`rewriteAnswer: ${rewritten.httpStatus} is not a status of an answer`);
  return send(response, rewritten);
}

function answerOf(
  message: Message | StoredMessage,
  headers: OutgoingHttpHeaders,
  form: Representation | undefined,
  deadline: Deadline | undefined,
): Answer {
  if (form === undefined) return { httpStatus: 200, headers, body: "", deadline };
  const { type, payload } = form;
  if (payload.kind !== "raw") {
    headers["content-type"] = type;
    return { httpStatus: 200, headers, body: payload.write(message), deadline };
  }
  const { contentType, data } = payload.write(message);
  if (contentType !== "") headers["content-type"] = contentType;
  return { httpStatus: 200, headers, body: data, isRaw: true, deadline };
}
