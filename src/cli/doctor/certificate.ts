/** Checks the certificate of the port. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { tlsProblems } from "../../app/index.ts";
import type { Config } from "../../config/index.ts";
import { type CheckResult, failure, ok, skipped, warning } from "./finding.ts";

const dayMs = 86_400_000;
/** Most certificates are renewed a month before their end: then something is wrong with that. */
const warnMs = 14 * dayMs;

/** Whether a start would take it with its key, and it is valid. */
export function checkCertificate(
  config: Pick<Config, "tlsCert" | "tlsKey" | "tlsClientCa">,
  nowMs: number,
): CheckResult {
  const { tlsCert } = config;
  if (tlsCert === undefined) return skipped("--tls-cert is not set");
  const problems = tlsProblems(config);
  if (problems.length > 0)
    return failure(problems.join("; "), "--tls-cert and --tls-key name a certificate chain and its key in PEM");
  const certificate = new X509Certificate(readFileSync(tlsCert));
  const [fromMs, toMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const until = `${certificate.subject.replaceAll("\n", ", ")} is valid until ${new Date(toMs).toISOString()}`;
  const renew = "renew the certificate";
  if (nowMs > toMs) return failure(`${tlsCert} has expired: ${until}`, renew);
  if (nowMs < fromMs)
    return failure(`${tlsCert} is valid only from ${new Date(fromMs).toISOString()} on`, `check the clock; ${renew}`);
  if (toMs - nowMs < warnMs) return warning(`${tlsCert} expires soon: ${until}`, renew);
  return ok(until);
}
