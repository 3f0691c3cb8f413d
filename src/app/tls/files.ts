/** The files of TLS: the server's certificate chain with its key, and the authorities of clients' certificates. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { type Config, flagOf } from "../../config/index.ts";
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
export function readTlsFiles(paths: TlsPaths, read: Read = readFileSync): TlsFiles | undefined {
  const { files, failures } = examine(paths, read);
  if (failures[0] !== undefined) throw failures[0];
  return files;
}

/** All that is wrong with the files of TLS, one line each. */
export function tlsProblems(paths: TlsPaths): string[] {
  return examine(paths, readFileSync).failures.map(({ message }) => message);
}

function examine(
  { tlsCert, tlsKey, tlsClientCa }: TlsPaths,
  read: Read,
): { readonly files: TlsFiles | undefined; readonly failures: readonly StartFailure[] } {
  const failures: StartFailure[] = [];
  const attempt = <T>(setting: keyof TlsPaths, what: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      failures.push(new StartFailure(`${flagOf(setting)}: ${what}: ${(error as Error).message}`, { cause: error }));
      return undefined;
    }
  };
  const content = (setting: keyof TlsPaths, path: string | undefined) =>
    path === undefined ? undefined : attempt(setting, `${path} cannot be read`, () => read(path));
  const cert = content("tlsCert", tlsCert);
  const key = content("tlsKey", tlsKey);
  const clientCa = content("tlsClientCa", tlsClientCa);
  const certificate =
    cert && attempt("tlsCert", `${tlsCert} does not contain a PEM certificate`, () => new X509Certificate(cert));
  const privateKey =
    key &&
    attempt("tlsKey", `${tlsKey} does not contain a PEM private key without a passphrase`, () => createPrivateKey(key));
  if (certificate !== undefined && privateKey !== undefined) {
    if (certificate.checkPrivateKey(privateKey))
      attempt("tlsCert", `${tlsCert} cannot be used`, () => createSecureContext({ cert: cert!, key: key! }));
    else {
      const what = `${tlsKey} is not the key of the first certificate in ${tlsCert} (${flagOf("tlsCert")})`;
      failures.push(new StartFailure(`${flagOf("tlsKey")}: ${what}`));
    }
  }
  if (clientCa !== undefined)
    attempt("tlsClientCa", `${tlsClientCa} cannot be used`, () => {
      const authorities = certificatesIn(clientCa);
      if (authorities.length === 0) throw new Error("it does not contain a PEM certificate");
      for (const pem of authorities) new X509Certificate(pem);
    });
  return { files: cert && key && { cert, key, ...(clientCa && { clientCa }) }, failures };
}
