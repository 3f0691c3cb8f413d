/** TLS of the port, and the certificates of clients. */
import { X509Certificate } from "node:crypto";
import type { DetailedPeerCertificate, SecureContextOptions, TLSSocket } from "node:tls";

/** What is read from files, in PEM. */
export interface TlsFiles {
  /** The certificate chain, and the key of its first certificate. */
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** The authorities of clients' certificates. Absent: clients are not asked for one. */
  readonly clientCa?: string | Buffer | undefined;
}

/** The options of a connection's secure context. TLS 1.2 at least. */
export function secureContextOf({ cert, key, clientCa }: TlsFiles): SecureContextOptions {
  return { cert, key, minVersion: "TLSv1.2", ...(clientCa !== undefined && { ca: certificatesIn(clientCa) }) };
}

/** The certificates of a PEM file, each in PEM. */
export function certificatesIn(pem: string | Buffer): string[] {
  return String(pem).match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
}

/** Whether an authority of a PEM file vouches for the client of a connection that has begun with others. */
export function isVouchedFor(socket: TLSSocket, clientCa: string | Buffer): boolean {
  const authorities = certificatesIn(clientCa).map((pem) => new X509Certificate(pem));
  for (const certificate of chainOf(socket)) {
    const isTrusted = ({ fingerprint256, publicKey, subject }: X509Certificate) =>
      certificate.fingerprint256 === fingerprint256 ||
      (certificate.issuer === subject && certificate.verify(publicKey));
    if (authorities.some(isTrusted)) return true;
  }
  return false;
}

/** The certificates of a client, from its own upwards, as far as they are known. */
function chainOf(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  const seen = new Set<string>();
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (next?.raw !== undefined && !seen.has(next.fingerprint256)) {
    seen.add(next.fingerprint256);
    chain.push(new X509Certificate(next.raw));
    next = next.issuerCertificate;
  }
  return chain;
}
