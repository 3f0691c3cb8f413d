/**
 * message: one HTTP request and its response, as handlers see them. It knows no RPC, and nothing of how they travel.
 *
 * A request comes in one of two forms, which have the same fields: with the objects of `node:http` or of the
 * compatibility API of `node:http2`, or buffered, if all of it has been received.
 *
 * Standard: RFC 9110. Runs on Node 20 and newer, because the package exports it with `rest`.
 */
export { type BodyKind, type BodyWatch, checkBodyHeaders, formatLimit, readBody, watchPiece } from "./body.ts";
export { Deadline, readDeadline } from "./deadline.ts";
export { hasCurrent } from "./entity-tags.ts";
export {
  type Arrival,
  type BufferedRequest,
  type BufferedResponse,
  breakOff,
  declaredLength,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  isBuffered,
  isGone,
  isHttp2,
  isOver,
  onGone,
  type PortRequest,
  type PortResponse,
} from "./message.ts";
export { type Coding, chooseCoding, chooseMediaType, contentCodings, isUtf8, parseCoding } from "./negotiation.ts";
export { isRead, readBefore } from "./parsed-body.ts";
export { httpStatuses, httpStatusOf, invalidArgument, Refusal } from "./refusal.ts";
export { isOfSameOrigin } from "./same-origin.ts";
export { type Answer, addVary, discardBody, isLongUnread, joinVary, send } from "./send.ts";
