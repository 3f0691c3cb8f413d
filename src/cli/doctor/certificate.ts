/** Checks the certificate of the port. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Config } from "../../config/index.ts";
import { type Finding, failure, ok, skipped, warning } from "./finding.ts";

const check = "certificate";
const dayMs = 86_400_000;
/** Most certificates are renewed a month before their end: then something is wrong with that. */
const warnMs = 14 * dayMs;

/** Whether it can be read, fits its key, and is valid. */
export function checkCertificate({ tlsCert, tlsKey }: Pick<Config, "tlsCert" | "tlsKey">, nowMs: number): Finding {
  if (tlsCert === undefined || tlsKey === undefined) return skipped(check, "--tls-cert is not set");
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(readFileSync(tlsCert));
    if (!certificate.checkPrivateKey(createPrivateKey(readFileSync(tlsKey))))
      return failure(
        check,
        `${tlsKey} is not the key of ${tlsCert}`,
        "set --tls-cert and --tls-key of one certificate",
      );
  } catch (error) {
    return failure(
      check,
      (error as Error).message,
      "--tls-cert and --tls-key name a certificate chain and its key in PEM",
    );
  }
  const [fromMs, toMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const until = `${certificate.subject.replaceAll("\n", ", ")} is valid until ${new Date(toMs).toISOString()}`;
  const renew = "renew the certificate";
  if (nowMs > toMs) return failure(check, `${tlsCert} has expired: ${until}`, renew);
  if (nowMs < fromMs)
    return failure(
      check,
      `${tlsCert} is valid only from ${new Date(fromMs).toISOString()} on`,
      `check the clock; ${renew}`,
    );
  if (toMs - nowMs < warnMs) return warning(check, `${tlsCert} expires soon: ${until}`, renew);
  return ok(check, until);
}
