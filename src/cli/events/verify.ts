/**
 * Verifies a delivery as a receiver does. The first failed check decides the status:
 *
 * 1. The request is an event: CloudEvents 1.0 in the binary mode of its HTTP binding, with a JSON body. Else 400.
 * 2. It has a token. Else 401.
 * 3. The token is of the platform's issuer, for the audience `customer` and the subject `webhook:<group of the
 *    subscription>`, and its claim `webhook.digest` is the SHA-256 of the body. Else 403.
 * 4. If the secret of the subscription is given, the signature of Standard Webhooks 1.0.0 is valid and at most five
 *    minutes old. Else 403.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { isUid } from "../../uid.ts";

/** A request to a sink. */
export interface WebhookRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The result of one check, with a short explanation. */
export interface Finding {
  readonly outcome: "verified" | "refused" | "unchecked";
  readonly text: string;
}

/** The result of all checks. */
export interface Verdict {
  /** The status to answer with: 200, 400, 401, 403; 500 if the keys of the issuer cannot be fetched. */
  readonly status: number;
  readonly event: Finding;
  readonly token: Finding;
  readonly signature: Finding;
}

/** The values to check against. */
interface Expectations {
  /** `iss` of the tokens, and base URL of discovery. */
  readonly issuer: string;
  /** uid of the subscription's group; undefined accepts any. */
  readonly group: string | undefined;
  /** `whsec_` and base64; undefined skips the check of signatures. */
  readonly secret: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const audience = "customer";
const toleranceSeconds = 300;
const fetchTimeoutMs = 5000;
/** Error codes of jose for keys that cannot be fetched. */
const keyFailures = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]);

/** Creates the verifier of a subscription. The keys of the issuer are fetched on first use. */
export function createVerifier(expected: Expectations): (request: WebhookRequest) => Promise<Verdict> {
  let keys: Promise<JWTVerifyGetKey> | undefined;

  function discovered(): Promise<JWTVerifyGetKey> {
    keys ??= discoverKeys(expected.issuer).catch((error: unknown) => {
      keys = undefined; // the next delivery tries again
      throw error;
    });
    return keys;
  }

  return async (request) => {
    const event = checkEvent(request);
    const signature = checkSignature(request, expected);
    if (request.headers.authorization === undefined)
      return { status: event.outcome === "refused" ? 400 : 401, event, token: refused("missing"), signature };
    try {
      const token = await checkToken(request, await discovered(), expected);
      const isBad = [token, signature].some(({ outcome }) => outcome === "refused");
      return { status: event.outcome === "refused" ? 400 : isBad ? 403 : 200, event, token, signature };
    } catch (error) {
      const token = {
        outcome: "unchecked",
        text: `no keys from ${expected.issuer} (--server, --issuer): ${causeOf(error)}`,
      } as const;
      return { status: 500, event, token, signature };
    }
  };
}

function checkEvent({ headers, body }: WebhookRequest): Finding {
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

/** Errors: those of fetching keys. */
async function checkToken(
  { headers, body }: WebhookRequest,
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

function checkSignature({ headers, body }: WebhookRequest, { secret, now }: Expectations): Finding {
  if (secret === undefined) return { outcome: "unchecked", text: "--secret is not given" };
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures = "" } = headers;
  if (typeof id !== "string" || typeof timestamp !== "string") return refused("missing");
  if (id !== headers["ce-id"]) return refused("webhook-id differs from ce-id");
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(now() / 1000 - Number(timestamp)) > toleranceSeconds)
    return refused("the timestamp differs from now by more than five minutes");
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = Buffer.from(
    `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")}`,
  );
  const isSigned = String(signatures)
    .split(" ")
    .map((one) => Buffer.from(one))
    .some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  return isSigned ? { outcome: "verified", text: "Standard Webhooks" } : refused("it was not made with this secret");
}

/** The keys referenced by the issuer's discovery document (OpenID Connect Discovery 1.0, 4). */
async function discoverKeys(issuer: string): Promise<JWTVerifyGetKey> {
  const address = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await fetch(address, { redirect: "error", signal: AbortSignal.timeout(fetchTimeoutMs) });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const document = (await response.json()) as { readonly issuer?: unknown; readonly jwks_uri?: unknown };
  if (document.issuer !== issuer)
    throw new Error(`its discovery document names the issuer ${JSON.stringify(document.issuer)}`);
  return createRemoteJWKSet(new URL(String(document.jwks_uri)), { timeoutDuration: fetchTimeoutMs });
}

/** Why a fetch failed. The message of the error is only `fetch failed`; its cause has the reason. */
function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message;
}

function refused(text: string): Finding {
  return { outcome: "refused", text };
}
