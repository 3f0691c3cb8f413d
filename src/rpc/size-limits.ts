/** Errors for messages that are too large. They name the limit and the setting that changes it, if there is one. */

import { Code, ConnectError } from "@connectrpc/connect";
import { flagOf } from "../config/index.ts";
import { unverifiedBytes } from "../http/index.ts";
import { formatLimit } from "../message/index.ts";

/**
 * RESOURCE_EXHAUSTED for a message that is larger than `maxBytes`, before or after decompression: the fixed limit of
 * methods that need no token, or the setting. Its details are added when it is sent.
 */
export function messageTooLarge(maxBytes: number): ConnectError {
  const limit = formatLimit(maxBytes, maxBytes === unverifiedBytes ? undefined : flagOf("maxRequestBytes"));
  return new ConnectError(`Resource exhausted: the request message is larger than ${limit}`, Code.ResourceExhausted);
}
