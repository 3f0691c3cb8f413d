/** The files of TLS: the server's certificate chain with its key, and the authorities of clients' certificates. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { type Config, flagOf } from "../../config.ts";
import { certificatesIn, type TlsFiles } from "../../http/index.ts";
import { StartFailure } from "../failure.ts";

/** The settings that name files of TLS. */
export type TlsPaths = Pick<Config, "tlsCert" | "tlsKey" | "tlsClientCa">;

/** Reads a file; errors: any. */
type Read = (path: string) => Buffer;

/**
 * The files of TLS, each checked by itself and the key against the certificate; undefined without TLS. Errors:
 * StartFailure.
 */
export function readTlsFiles(
  { tlsCert, tlsKey, tlsClientCa }: TlsPaths,
  read: Read = readFileSync,
): TlsFiles | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const content = (setting: keyof TlsPaths, path: string) =>
    explained(setting, `${path} cannot be read`, () => read(path));
  const cert = content("tlsCert", tlsCert);
  const key = content("tlsKey", tlsKey);
  const certificate = explained(
    "tlsCert",
    `${tlsCert} does not contain a PEM certificate`,
    () => new X509Certificate(cert),
  );
  const privateKey = explained("tlsKey", `${tlsKey} does not contain a PEM private key without a passphrase`, () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new StartFailure(
      `${flagOf("tlsKey")}: ${tlsKey} is not the key of the first certificate in ${tlsCert} (${flagOf("tlsCert")})`,
    );
  explained("tlsCert", `${tlsCert} cannot be used`, () => createSecureContext({ cert, key }));
  if (tlsClientCa === undefined) return { cert, key };
  const clientCa = content("tlsClientCa", tlsClientCa);
  const authorities = certificatesIn(clientCa);
  if (authorities.length === 0)
    throw new StartFailure(`${flagOf("tlsClientCa")}: ${tlsClientCa} does not contain a PEM certificate`);
  explained("tlsClientCa", `${tlsClientCa} has a certificate that cannot be read`, () => {
    for (const pem of authorities) new X509Certificate(pem);
  });
  return { cert, key, clientCa };
}

function explained<T>(setting: keyof Config, what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new StartFailure(`${flagOf(setting)}: ${what}: ${(error as Error).message}`, { cause: error });
  }
}
