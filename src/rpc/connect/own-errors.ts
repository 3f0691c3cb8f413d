/** The errors of Connect's library, distinguished from those of the services by their texts. */
import { Code, type ConnectError } from "@connectrpc/connect";

/** How Connect itself says that it does not implement something; an implementation's own words are its own. */
const ofConnect = /^(protocol error|unknown compression)\b|^[\w.]+ is not implemented$/;

/**
 * Makes Connect's INTERNAL for an undecodable message INVALID_ARGUMENT, and words its errors for a message too large
 * and for what it does not implement as everywhere else.
 */
export function reword(error: ConnectError): void {
  if (error.code === Code.Unimplemented && ofConnect.test(error.rawMessage)) {
    const message = `Unimplemented: ${error.rawMessage}`;
    Object.assign(error, { rawMessage: message, message });
  }
  const isUndecodable = error.code === Code.Internal && /^(parse binary|cannot decode)/.test(error.rawMessage);
  if (isUndecodable) Object.assign(error, { code: Code.InvalidArgument });
  const maxBytes = /larger than configured readMaxBytes (\d+)/.exec(error.rawMessage)?.[1];
  const message = `Resource exhausted: the request message is larger than ${maxBytes} bytes`;
  if (maxBytes !== undefined) Object.assign(error, { rawMessage: message, message });
}
