/** Failures of a start that the operator can mend: the setting, what is wrong with it, and what to do. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { type Config, flagOf, type ListenAddress } from "../config.ts";

/** A failure whose message explains it to the operator in one line. */
export class StartFailure extends Error {
  override readonly name = "StartFailure";
}

/** Reads the certificate chain and its key, in PEM; undefined without TLS. Errors: StartFailure. */
export function readCertificate({
  tlsCert,
  tlsKey,
}: Config): { readonly cert: Buffer; readonly key: Buffer } | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const cert = readPem("tlsCert", tlsCert);
  const key = readPem("tlsKey", tlsKey);
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
  return { cert, key };
}

function readPem(setting: keyof Config, path: string): Buffer {
  return explained(setting, `${path} cannot be read`, () => readFileSync(path));
}

function explained<T>(setting: keyof Config, what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new StartFailure(`${flagOf(setting)}: ${what}: ${(error as Error).message}`, { cause: error });
  }
}

/** The StartFailure for an error of listening on an address, or the error itself if it is of no known kind. */
export function listenFailure(setting: keyof Config, { host, port }: ListenAddress, error: unknown): unknown {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} of ${host} is in use, perhaps by another platform server; stop it (\`ss -ltnp\` shows the process) or choose another port`,
    EACCES: `this user may not open port ${port}; choose a port above 1023`,
    EADDRNOTAVAIL: `${host} is not an address of this machine`,
    ENOTFOUND: `the host name ${host} does not resolve`,
    EAI_AGAIN: `the host name ${host} does not resolve`,
  };
  const reason = reasons[(error as NodeJS.ErrnoException).code ?? ""];
  return reason === undefined ? error : new StartFailure(`${flagOf(setting)}: ${reason}`, { cause: error });
}
