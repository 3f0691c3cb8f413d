/**
 * TLS certificates of clients as tokens: a call without an `Authorization` header, on a connection whose client has a
 * valid certificate, is authenticated as if it had a token with these claims.
 *
 * | claim | value |
 * |---|---|
 * | `iss` | {@link certificateIssuer} |
 * | `sub` | the first subject alternative name that is a URI (SPIFFE id), or a DNS name, or an e-mail address |
 * | `aud` | the issuer of the platform |
 * | `nbf`, `exp` | the validity of the certificate |
 *
 * The token is signed with a key that this process makes at its start and keeps to itself. So no token from outside is
 * accepted with this issuer, not even from the owner of its host or of static keys for it. Within, it is a token like
 * any other: the rules of identities are matched, and its cost is that of a cached token.
 */
import { generateKeyPairSync, sign, verify, type X509Certificate } from "node:crypto";
import { isIdentifier, type Token, TokenRejected } from "./token.ts";

/** The issuer that the rule of an identity names for certificates of clients. Nothing is served at this address. */
export const certificateIssuer = "https://tls-client.platform.internal";

/** Makes and verifies the tokens of one process. */
export interface CertificateTokens {
  /** The `Authorization` header for a certificate; undefined if it has no usable name. */
  headerFor(certificate: X509Certificate): string | undefined;
  /** Errors: TokenRejected. */
  verify(token: Token): void;
}

/** Creates them. @param audience the issuer of the platform. */
export function createCertificateTokens(audience: string): CertificateTokens {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const head = encoded({ alg: "EdDSA", typ: "JWT" });
  const headers = new WeakMap<X509Certificate, string | undefined>();

  function make(certificate: X509Certificate): string | undefined {
    const subject = subjectOf(certificate);
    if (subject === undefined) return undefined;
    const [nbf, exp] = [certificate.validFrom, certificate.validTo].map((time) => Math.max(0, Date.parse(time) / 1000));
    const content = `${head}.${encoded({ iss: certificateIssuer, sub: subject, aud: audience, nbf, exp })}`;
    return `Bearer ${content}.${sign(null, Buffer.from(content), privateKey).toString("base64url")}`;
  }

  return {
    headerFor(certificate) {
      if (!headers.has(certificate)) headers.set(certificate, make(certificate));
      return headers.get(certificate);
    },
    verify({ text, algorithm }) {
      const end = text.lastIndexOf(".");
      const signature = Buffer.from(text.slice(end + 1), "base64url");
      if (algorithm !== "EdDSA" || !verify(null, Buffer.from(text.slice(0, end)), publicKey, signature))
        throw new TokenRejected("not made for a certificate by this process");
    },
  };
}

/** A kind of names, and its spelling. The spellings exclude each other, so a name is of one kind. */
const kinds: readonly (readonly [label: string, spelling: RegExp])[] = [
  ["URI", /^[a-z][a-z0-9+.-]*:[!-~]+$/i],
  ["DNS", /^[a-z0-9_*.-]+$/i],
  ["email", /^[^@:\s]+@[^@:\s]+$/],
];

/** The name of a certificate's holder; undefined if it has none that can be compared as it is. */
function subjectOf({ subjectAltName = "" }: X509Certificate): string | undefined {
  // Node writes a name with a comma or a quote as a JSON string, so that it cannot pass for several.
  const names = [...subjectAltName.matchAll(/(?:^|, )([\w ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g)];
  for (const [label, spelling] of kinds) {
    const name = names.find(([, kind, text]) => kind === label && spelling.test(text!))?.[2];
    if (isIdentifier(name)) return name;
  }
  return undefined;
}
