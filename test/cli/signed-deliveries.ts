/** Makes deliveries, valid and forged, signed with the keys of a local issuer. */
import { createHash, createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createIssuer, generateSigningKey, type Issuer } from "../../src/auth/index.ts";

/** The receiver's values of a subscription. */
export interface Subscription {
  readonly issuer: string;
  readonly group: string;
  readonly secret: string;
}

/** Changes to a delivery. */
export interface Forgery {
  /** Headers to set after signing; undefined removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Replaces the signed body. */
  readonly arriving?: string;
  readonly audience?: string;
  readonly subject?: string;
  readonly digest?: string;
  readonly ttlSeconds?: number;
  readonly secret?: string;
  /** Age of the signature in seconds. */
  readonly age?: number;
  /** Replaces the platform as signer of the token. */
  readonly by?: Issuer;
}

/** A delivery to send. */
export interface SignedDelivery {
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** Signs an event for a subscription. */
export async function signDelivery(
  issuer: Issuer,
  { group, secret }: Subscription,
  forgery: Forgery = {},
): Promise<SignedDelivery> {
  const id = "0b7a3c1e-6f0c-4d1b-9d8a-2f6f8f1f0c11";
  const body = '{"actor":{"subject":"me"},"body":{"uid":"1"}}';
  const timestamp = String(Math.floor(Date.now() / 1000) - (forgery.age ?? 0));
  const key = Buffer.from((forgery.secret ?? secret).replace("whsec_", ""), "base64");
  const digest = forgery.digest ?? `sha256:${createHash("sha256").update(body).digest("hex")}`;
  const token = await (forgery.by ?? issuer).mint({
    subject: forgery.subject ?? `webhook:${group}`,
    audience: forgery.audience ?? "customer",
    ttlSeconds: forgery.ttlSeconds ?? 3600,
    claims: { webhook: { digest } },
  });
  const headers = {
    "ce-id": id,
    "ce-specversion": "1.0",
    "ce-type": "dev.platform.api.iam.group.created.v1",
    "ce-source": "https://platform.example/iam/v2/groups",
    "content-type": "application/json",
    authorization: `Bearer ${token}`,
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`,
    ...forgery.headers,
  };
  const present = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { headers: Object.fromEntries(present), body: Buffer.from(forgery.arriving ?? body) };
}

/** An issuer that serves its discovery document and keys. */
export interface PublishedIssuer {
  readonly issuer: Issuer;
  /** Number of requests. */
  readonly requests: () => number;
  close(): Promise<void>;
}

/** Starts a local issuer. `answer` changes its responses. */
export async function publishIssuer(
  answer: (path: string, document: unknown) => unknown = (_path, document) => document,
): Promise<PublishedIssuer> {
  let requests = 0;
  let issuer: Issuer;
  const server = createServer(async (request, response) => {
    requests++;
    const document = request.url?.endsWith("jwks.json") ? await issuer.jwks() : issuer.discovery();
    const given = answer(request.url ?? "", document);
    if (given === undefined) response.writeHead(503).end();
    else response.setHeader("content-type", "application/json").end(JSON.stringify(given));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  issuer = await createIssuer({ issuer: url, keys: [await generateSigningKey(Date.now)], clock: Date.now });
  return {
    issuer,
    requests: () => requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
