/** Limits of the size of messages, and how they are told: with the setting that an operator changes them by. */
import { Code, ConnectError } from "@connectrpc/connect";
import { flagOf } from "../config.ts";
import { toldLimit } from "../rest/index.ts";

/** Bytes of a message to a service of the server's own, health or reflection: names and no more. */
export const ownServiceMaxBytes = 16 * 1024;

/** RESOURCE_EXHAUSTED for a message, compressed or not, of more than so many bytes; its details are added where it leaves the server. */
export function messageTooLarge(maxBytes: number): ConnectError {
  const limit = toldLimit(maxBytes, maxBytes === ownServiceMaxBytes ? undefined : flagOf("maxRequestBytes"));
  return new ConnectError(`Resource exhausted: the request message is larger than ${limit}`, Code.ResourceExhausted);
}
