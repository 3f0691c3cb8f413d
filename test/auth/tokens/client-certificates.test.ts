/** Certificates of clients as tokens. */
import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { certificateIssuer, createCertificateTokens } from "../../../src/auth/tokens/client-certificates.ts";
import { parseToken } from "../../../src/auth/tokens/token.ts";
import { type CertificateInit, certificateOf } from "../../http/self-signed.ts";

const audience = "https://api.example.com";

function tokenFor(init: CertificateInit, tokens = createCertificateTokens(audience)) {
  const header = tokens.headerFor(new X509Certificate(certificateOf(init).cert));
  return header === undefined ? undefined : parseToken(header.slice("Bearer ".length));
}

test.each<[NonNullable<CertificateInit["altNames"]>, string | undefined]>([
  [[["uri", "spiffe://example.com/build"]], "spiffe://example.com/build"],
  [
    [
      ["email", "ops@example.com"],
      ["dns", "build.example.com"],
      ["uri", "spiffe://example.com/build"],
      ["uri", "spiffe://example.com/second"],
    ],
    "spiffe://example.com/build",
  ],
  [
    [
      ["email", "ops@example.com"],
      ["dns", "build.example.com"],
    ],
    "build.example.com",
  ],
  [[["email", "ops@example.com"]], "ops@example.com"],
  [[["ip", "\x7f\0\0\x01"]], undefined],
  [[], undefined],
  // A name of one kind must not pass for another, nor for several.
  [[["dns", "spiffe://example.com/build"]], undefined],
  [[["dns", "ops@example.com"]], undefined],
  [[["dns", "a.example.com, URI:spiffe://example.com/build"]], undefined],
  [[["email", "a@example.com, URI:spiffe://example.com/build"]], undefined],
  [
    [
      ["dns", 'a", URI:"spiffe://example.com/build'],
      ["dns", "b.example.com"],
    ],
    "b.example.com",
  ],
  [[["uri", "spiffe://example.com/a\0b"]], undefined],
  [[["uri", `spiffe://example.com/${"a".repeat(1020)}`]], undefined],
])("the subject of %j is %s", (altNames, subject) => {
  expect(tokenFor({ altNames })?.claims.sub).toBe(subject);
});

test("a token has the validity of the certificate, and the platform as its audience", () => {
  const token = tokenFor({ notBefore: new Date("2026-01-01"), notAfter: new Date("2027-01-01") });
  expect(token?.claims).toEqual({
    iss: certificateIssuer,
    sub: "localhost",
    aud: audience,
    nbf: Date.parse("2026-01-01") / 1000,
    exp: Date.parse("2027-01-01") / 1000,
  });
});

test("only the process that has made a token accepts it", () => {
  const tokens = createCertificateTokens(audience);
  const token = tokenFor({}, tokens)!;
  expect(() => tokens.verify(token)).not.toThrow();
  expect(() => createCertificateTokens(audience).verify(token)).toThrow("not made for a certificate by this process");
  expect(() => tokens.verify({ ...token, algorithm: "ES256" })).toThrow();
  const [head, , signature] = token.text.split(".");
  const forged = Buffer.from(JSON.stringify({ ...token.claims, sub: "other" })).toString("base64url");
  expect(() => tokens.verify(parseToken(`${head}.${forged}.${signature}`))).toThrow();
});
