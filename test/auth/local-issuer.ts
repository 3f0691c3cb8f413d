import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

/** The start time of all tests of `auth`, in milliseconds since 1970. */
export const startMs = Date.UTC(2026, 10, 5, 12);

/** A key pair, its public half as it is published. */
export interface TestKey {
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function testKey(alg: string, kid: string): Promise<TestKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

export function sign(
  { alg, privateKey, jwk }: TestKey,
  claims: Record<string, unknown>,
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg, kid: jwk.kid!, ...header }).sign(privateKey);
}

/** A token's text with parts that need not make sense. */
export function forge(header: unknown, claims: unknown, signature: string | Uint8Array = "forged"): string {
  const part = (value: unknown) =>
    Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
  return [part(header), part(claims), Buffer.from(signature).toString("base64url")].join(".");
}

/** An OpenID Connect issuer on loopback that counts what it is asked. */
export interface LocalIssuer {
  readonly url: string;
  keys: JWK[];
  /** Replaces an answer: by path, the status and body. */
  readonly answers: Map<string, { status: number; body: string }>;
  readonly requests: string[];
  close(): void;
}

export const discoveryPath = "/.well-known/openid-configuration";

export async function startIssuer(...keys: TestKey[]): Promise<LocalIssuer> {
  const server = createServer((request, response) => {
    const path = request.url!;
    issuer.requests.push(path);
    const documents: Record<string, unknown> = {
      [discoveryPath]: { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` },
      "/keys": { keys: issuer.keys },
    };
    const { status, body } = issuer.answers.get(path) ?? {
      status: path in documents ? 200 : 404,
      body: JSON.stringify(documents[path]),
    };
    response.writeHead(status, { "content-type": "application/json", location: "/keys" }).end(body);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const issuer: LocalIssuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys: keys.map(({ jwk }) => jwk),
    answers: new Map(),
    requests: [],
    close: () => server.close(),
  };
  return issuer;
}
