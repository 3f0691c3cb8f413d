/** What keeps a server from starting, in the operator's terms: the setting, what is wrong, and what to do. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { type Config, flagOf, type ListenAddress } from "../config.ts";

/** A failure to tell the operator about in one line. */
export class StartFailure extends Error {
  override readonly name = "StartFailure";
}

/** The certificate chain and its key, in PEM; undefined without TLS. Errors: StartFailure. */
export function readCertificate({
  tlsCert,
  tlsKey,
}: Config): { readonly cert: Buffer; readonly key: Buffer } | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const cert = readPem("tlsCert", tlsCert);
  const key = readPem("tlsKey", tlsKey);
  const certificate = described(
    "tlsCert",
    `${tlsCert} does not contain a PEM certificate`,
    () => new X509Certificate(cert),
  );
  const privateKey = described("tlsKey", `${tlsKey} does not contain a PEM private key without a passphrase`, () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new StartFailure(
      `${flagOf("tlsKey")}: ${tlsKey} is not the key of the first certificate in ${tlsCert} (${flagOf("tlsCert")})`,
    );
  described("tlsCert", `${tlsCert} cannot be used`, () => createSecureContext({ cert, key }));
  return { cert, key };
}

function readPem(setting: keyof Config, path: string): Buffer {
  return described(setting, `${path} cannot be read`, () => readFileSync(path));
}

function described<T>(setting: keyof Config, what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new StartFailure(`${flagOf(setting)}: ${what}: ${(error as Error).message}`, { cause: error });
  }
}

/** Why an address cannot be listened at; the error itself where nothing more is known. */
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
