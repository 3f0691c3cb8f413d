/** TLS of the port. */
import type { SecureContextOptions } from "node:tls";

/** What is read from files, in PEM. */
export interface TlsFiles {
  /** The certificate chain, and the key of its first certificate. */
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

/** The options of a connection's secure context. TLS 1.2 at least. */
export function secureContextOf({ cert, key }: TlsFiles): SecureContextOptions {
  return { cert, key, minVersion: "TLSv1.2" };
}
