/**
 * How deliveries are authenticated: by a token signed by the platform, and by a signature with the secret of the
 * subscription.
 */
import { createHash, createHmac } from "node:crypto";
import { LruMap } from "../lru-map.ts";
import type { Event } from "./event.ts";

/** Signs a token of the platform: `mint` of the issuer. */
export type SignToken = (request: {
  readonly subject: string;
  readonly audience: string;
  readonly ttlSeconds: number;
  readonly claims: Readonly<Record<string, unknown>>;
}) => Promise<string>;

/** Returns the token of an event for the subscriptions of a group. */
export type DeliveryTokens = (event: Pick<Event, "id" | "data">, group: string) => Promise<string>;

/** Audience of the tokens. */
export const tokenAudience = "customer";

const ttlSeconds = 3600;
/** A cached token is reused while at least half of its lifetime remains. */
const reuseMs = (ttlSeconds * 1000) / 2;
const maxTokens = 5000;

/** Creates the tokens of deliveries, cached by event and group. */
export function createDeliveryTokens(sign: SignToken, now: () => number): DeliveryTokens {
  const signed = new LruMap<string, { readonly token: Promise<string>; readonly untilMs: number }>(maxTokens);
  return ({ id, data }, group) => {
    const key = `${id} ${group}`;
    const cached = signed.get(key);
    if (cached !== undefined && now() < cached.untilMs) return cached.token;
    const digest = `sha256:${createHash("sha256").update(data).digest("hex")}`;
    const request = {
      subject: `webhook:${group}`,
      audience: tokenAudience,
      ttlSeconds,
      claims: { webhook: { digest } },
    };
    const token = sign(request);
    token.catch(() => signed.delete(key));
    signed.set(key, { token, untilMs: now() + reuseMs });
    return token;
  };
}

/**
 * The headers of Standard Webhooks 1.0.0. There is a signature for each secret; it covers id, time and body.
 *
 * @param secrets each `whsec_` and base64.
 */
export function signatureHeaders(
  { id, data }: Pick<Event, "id" | "data">,
  secrets: readonly string[],
  nowMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${data}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}
