/** Limits of the size of messages, and how they are told: with the setting that an operator changes them by. */
import type { ConnectError } from "@connectrpc/connect";
import { flagOf } from "../config.ts";
import { resourceExhausted } from "../errors.ts";
import { toldLimit } from "../rest/index.ts";

/** Bytes of a message to a service of the server's own, health or reflection: names and no more. */
export const ownServiceMaxBytes = 16 * 1024;

/** RESOURCE_EXHAUSTED for a message, compressed or not, of more than so many bytes. */
export function messageTooLarge(maxBytes: number): ConnectError {
  return resourceExhausted(
    "request",
    `the request message is larger than ${toldLimit(maxBytes, flagOf("maxRequestBytes"))}`,
  );
}
