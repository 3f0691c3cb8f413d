/** The header field `grpc-timeout`. */

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Milliseconds; NaN if malformed. Follows: gRPC over HTTP/2 (PROTOCOL-HTTP2.md). */
export function parseGrpcTimeout(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  return Number(amount) * (unitMs[unit] ?? Number.NaN);
}
