/** How a receiver knows that a delivery is ours: a token that any of the group's receivers can verify, and a signature by the subscription's secret. */
import { createHash, createHmac } from "node:crypto";
import type { Event } from "./event.ts";

/** Signs a token of the platform's; the issuer's `mint`. */
export type SignToken = (request: {
  readonly subject: string;
  readonly audience: string;
  readonly ttlSeconds: number;
  readonly claims: Readonly<Record<string, unknown>>;
}) => Promise<string>;

/** The token of an event for the subscriptions of a group. */
export type DeliveryTokens = (event: Pick<Event, "id" | "data">, group: string) => Promise<string>;

/** Who receives our tokens. */
export const tokenAudience = "customer";

const ttlSeconds = 3600;
/** A token that is sent has at least half of its life before it. */
const reuseMs = (ttlSeconds * 1000) / 2;
const maxTokens = 5000;

/** Tokens, each signed once for an event and a group as long as it can be reused. */
export function createDeliveryTokens(sign: SignToken, now: () => number): DeliveryTokens {
  const signed = new Map<string, { readonly token: Promise<string>; readonly untilMs: number }>();
  return ({ id, data }, group) => {
    const name = `${id} ${group}`;
    const known = signed.get(name);
    if (known !== undefined && now() < known.untilMs) return known.token;
    const digest = `sha256:${createHash("sha256").update(data).digest("hex")}`;
    const request = {
      subject: `webhook:${group}`,
      audience: tokenAudience,
      ttlSeconds,
      claims: { webhook: { digest } },
    };
    const token = sign(request);
    token.catch(() => signed.delete(name));
    signed.delete(name);
    signed.set(name, { token, untilMs: now() + reuseMs });
    const [oldest] = signed.keys();
    if (signed.size > maxTokens && oldest !== undefined) signed.delete(oldest);
    return token;
  };
}

/**
 * The headers of Standard Webhooks 1.0.0: the signature is of id, time and body.
 *
 * @param secret `whsec_` and base64.
 */
export function signatureHeaders(
  { id, data }: Pick<Event, "id" | "data">,
  secret: string,
  nowMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${data}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
