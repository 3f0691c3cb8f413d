/** The authorities whose certificates of servers are trusted. */
import { X509Certificate } from "node:crypto";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { Option } from "commander";
import { CommandFailure, readInput } from "../../command/index.ts";

/** `--ca`. */
export const caOption = new Option(
  "--ca <FILE>",
  "certificates in PEM of authorities to trust, besides those that are known",
).env("PLATFORM_CA");

/**
 * Trusts the certificates of a file in all connections of this process that are opened from now on. Errors:
 * CommandFailure if it has none.
 */
export function trustAuthorities(file: string): void {
  const certificates =
    readInput(file, "--ca").match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0 || !certificates.every(isCertificate))
    throw new CommandFailure(`--ca: ${file} has no certificate in PEM, or one that cannot be read`, 2);
  setDefaultCACertificates([...getCACertificates("default"), ...certificates]);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
