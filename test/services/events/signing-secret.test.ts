import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { createSigningSecret } from "../../../src/services/events/signing-secret.ts";

test("secrets are what Standard Webhooks wants, and never the same", () => {
  const secrets = Array.from({ length: 100 }, createSigningSecret);
  expect(new Set(secrets).size).toBe(100);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const webhook = new Webhook(secret);
    const time = new Date();
    const headers = {
      "webhook-id": "1",
      "webhook-timestamp": String(Math.floor(time.getTime() / 1000)),
      "webhook-signature": webhook.sign("1", time, "{}"),
    };
    expect(webhook.verify("{}", headers)).toEqual({});
  }
});
