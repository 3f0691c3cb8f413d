/**
 * What a receiver checks of a delivery, in the order in which it answers:
 *
 * 1. it is an event: CloudEvents 1.0 in the binary mode of its HTTP binding, with a JSON body, or 400;
 * 2. it carries a token, or 401;
 * 3. the token is of the platform's issuer, for the audience `customer`, about `webhook:<group of the subscription>`, and its claim
 *    `webhook.digest` is the SHA-256 of the body, or 403;
 * 4. where the subscription's secret is known, the signature of Standard Webhooks 1.0.0 is right and at most five minutes old, or 403.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { isUid } from "../uid.ts";

/** A request that says it delivers an event. */
export interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** How one check ended, and a few words about it. */
export interface Finding {
  readonly outcome: "verified" | "refused" | "unchecked";
  readonly text: string;
}

/** What is to be thought of a delivery. */
export interface Verdict {
  /** The answer that it deserves: 200, 400, 401, 403; 500 when the issuer's keys cannot be had. */
  readonly status: number;
  readonly event: Finding;
  readonly token: Finding;
  readonly signature: Finding;
}

/** What a receiver knows of its subscription. */
export interface Expectations {
  /** `iss` of the tokens; discovery and keys are fetched from there. */
  readonly issuer: string;
  /** uid of the subscription's group; undefined: any. */
  readonly group: string | undefined;
  /** `whsec_` and base64; undefined: signatures are not checked. */
  readonly secret: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const audience = "customer";
const toleranceSeconds = 300;
const fetchTimeoutMs = 5000;
/** What jose calls it when the keys cannot be had, which is not the token's fault. */
const keyFailures = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]);

/** Creates the check of the deliveries of one subscription. The issuer's keys are fetched with the first one. */
export function createVerifier(expected: Expectations): (delivery: Delivery) => Promise<Verdict> {
  let keys: Promise<JWTVerifyGetKey> | undefined;

  function discovered(): Promise<JWTVerifyGetKey> {
    keys ??= discoverKeys(expected.issuer).catch((error: unknown) => {
      keys = undefined; // the next delivery tries again
      throw error;
    });
    return keys;
  }

  return async (delivery) => {
    const event = checkEvent(delivery);
    const signature = checkSignature(delivery, expected);
    if (delivery.headers.authorization === undefined)
      return { status: event.outcome === "refused" ? 400 : 401, event, token: refused("missing"), signature };
    try {
      const token = await checkToken(delivery, await discovered(), expected);
      const isBad = [token, signature].some(({ outcome }) => outcome === "refused");
      return { status: event.outcome === "refused" ? 400 : isBad ? 403 : 200, event, token, signature };
    } catch (error) {
      const token = { outcome: "unchecked", text: `no keys from ${expected.issuer}: ${causeOf(error)}` } as const;
      return { status: 500, event, token, signature };
    }
  };
}

function checkEvent({ headers, body }: Delivery): Finding {
  if (headers["ce-specversion"] !== "1.0") return refused("ce-specversion is not 1.0");
  const missing = ["ce-id", "ce-source", "ce-type"].find((name) => !headers[name]);
  if (missing !== undefined) return refused(`no ${missing}`);
  if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")) return refused("the body is not JSON");
  try {
    JSON.parse(body.toString("utf8"));
  } catch {
    return refused("the body is not valid JSON");
  }
  return { outcome: "verified", text: "CloudEvents 1.0" };
}

/** Errors: of fetching keys. */
async function checkToken(
  { headers, body }: Delivery,
  keys: JWTVerifyGetKey,
  { issuer, group, now }: Expectations,
): Promise<Finding> {
  const [, token] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
  if (token === undefined) return refused("the header Authorization is not a bearer token");
  let claims: JWTPayload;
  try {
    const options = { issuer, audience, algorithms: ["ES256"], currentDate: new Date(now()), requiredClaims: ["exp"] };
    ({ payload: claims } = await jwtVerify(token, keys, options));
  } catch (error) {
    if (!(error instanceof errors.JOSEError) || keyFailures.has(error.code)) throw error;
    return refused(error.message);
  }
  const { sub = "", webhook } = claims as JWTPayload & { readonly webhook?: { readonly digest?: string } };
  const subscribed = sub.slice("webhook:".length);
  if (!sub.startsWith("webhook:") || !isUid(subscribed)) return refused("the subject of the token is not a webhook");
  if (group !== undefined && subscribed !== group) return refused(`the token is for the group ${subscribed}`);
  if (webhook?.digest !== `sha256:${createHash("sha256").update(body).digest("hex")}`)
    return refused("the digest in the token does not match the body");
  return { outcome: "verified", text: sub };
}

function checkSignature({ headers, body }: Delivery, { secret, now }: Expectations): Finding {
  if (secret === undefined) return { outcome: "unchecked", text: "--secret is not given" };
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures = "" } = headers;
  if (typeof id !== "string" || typeof timestamp !== "string") return refused("missing");
  if (id !== headers["ce-id"]) return refused("webhook-id differs from ce-id");
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(now() / 1000 - Number(timestamp)) > toleranceSeconds)
    return refused("the timestamp differs from now by more than five minutes");
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const right = Buffer.from(
    `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")}`,
  );
  const isSigned = String(signatures)
    .split(" ")
    .map((one) => Buffer.from(one))
    .some((one) => one.length === right.length && timingSafeEqual(one, right));
  return isSigned ? { outcome: "verified", text: "Standard Webhooks" } : refused("it was not made with this secret");
}

/** The keys that the issuer's discovery document leads to (OpenID Connect Discovery 1.0, 4). */
async function discoverKeys(issuer: string): Promise<JWTVerifyGetKey> {
  const address = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await fetch(address, { redirect: "error", signal: AbortSignal.timeout(fetchTimeoutMs) });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const document = (await response.json()) as { readonly issuer?: unknown; readonly jwks_uri?: unknown };
  if (document.issuer !== issuer)
    throw new Error(`its discovery document names the issuer ${JSON.stringify(document.issuer)}`);
  return createRemoteJWKSet(new URL(String(document.jwks_uri)), { timeoutDuration: fetchTimeoutMs });
}

/** Why a fetch failed: `fetch failed` says nothing, its cause does. */
function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message;
}

function refused(text: string): Finding {
  return { outcome: "refused", text };
}
