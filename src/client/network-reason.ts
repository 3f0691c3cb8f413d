/** Why servers are not reached, in words for people. */

/** What the codes of OpenSSL mean where TLS is spoken to a port that does not. */
const cleartextCodes = ["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"];

/** Why a server was not reached; undefined if it answered. @param error of `fetch`, or with that as its cause. */
export function networkReason(error: Error): string | undefined {
  const chain: Error[] = [];
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) chain.push(cause);
  if (!chain.some((cause) => cause instanceof TypeError)) return undefined;
  const last = chain.at(-1)!;
  // A host with several addresses fails once for each; the aggregate has no message.
  const { message, code, reason }: { message: string; code?: string; reason?: unknown } =
    last instanceof AggregateError ? (last.errors[0] as Error) : last;
  if (cleartextCodes.includes(code ?? "")) return "the port does not speak TLS; is it http:// instead of https://?";
  if (message === "bad port") return "HTTP clients do not use this port, which belongs to another protocol";
  return typeof reason === "string" ? `TLS: ${reason}` : message;
}
