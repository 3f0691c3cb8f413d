import { describe, expect, it } from "vitest";
import { type ClaimMatch, defaultAudiences, matches, type StaticKeys } from "../../../src/auth/tokens/claim-match.ts";
import type { Token } from "../../../src/auth/tokens/token.ts";
import { startMs } from "../local-issuer.ts";

const platform = "https://api.platform.example/base";
const defaults = defaultAudiences(platform);

function token(claims: Record<string, unknown> = {}): Token {
  const all = { iss: "https://idp.example", sub: "repo:a", aud: platform, exp: 1, ...claims };
  return { text: "", algorithm: "ES256", keyId: undefined, claims: all, audiences: [all.aud].flat() };
}

const rule = (change: Partial<ClaimMatch> = {}): ClaimMatch => ({
  kind: "claim_match",
  issuer: "https://idp.example",
  subject: "repo:a",
  claims: {},
  claimPatterns: {},
  ...change,
});

describe("defaultAudiences", () => {
  it("is the issuer URL or its origin, with or without scheme, and nothing nearly so", () => {
    expect([...defaultAudiences("https://h")].sort()).toEqual(["h", "https://h"]);
    expect([...defaultAudiences("https://h:8443/a")].sort()).toEqual(
      ["https://h:8443/a", "h:8443/a", "https://h:8443", "h:8443"].sort(),
    );
  });
});

describe("claim match", () => {
  const good: [Partial<ClaimMatch>, Record<string, unknown>?][] = [
    [{}],
    [{ issuerPattern: "", subjectPattern: "", audience: "", audiencePattern: "" }],
    [{ issuer: "", issuerPattern: "https://idp\\.example" }],
    [{ issuer: "", issuerPattern: "https://idp\\.example/[a-z]+" }, { iss: "https://idp.example/a" }],
    [{ issuerPattern: "^https://idp.example$" }],
    [{ subject: "", subjectPattern: "repo:.*" }],
    [{}, { aud: ["other", "api.platform.example"] }],
    [{}, { aud: "https://api.platform.example" }],
    [{}, { aud: "api.platform.example/base" }],
    [{ audience: "mine" }, { aud: ["other", "mine"] }],
    [{ audiencePattern: "m.*" }, { aud: "mine" }],
    [{ audience: "mine", audiencePattern: "m.*" }, { aud: "mine" }],
    [
      { claims: { ref: "main", run: "42", ok: "true", off: "false", half: "0.5" } },
      { ref: "main", run: 42, ok: true, off: false, half: 0.5 },
    ],
    [{ claims: { "a.b": "c" } }, { "a.b": "c" }],
    [{ claims: { empty: "" } }, { empty: "" }],
    [{ claims: { big: "9007199254740991", negative: "-1" } }, { big: Number.MAX_SAFE_INTEGER, negative: -1 }],
    [{ claimPatterns: { run: "4.", ref: "^main$" } }, { run: 42, ref: "main" }],
  ];
  const bad: [Partial<ClaimMatch>, Record<string, unknown>?][] = [
    [{ issuer: "", issuerPattern: "" }],
    [{ subject: "", subjectPattern: "" }],
    [{ issuer: "https://idp.example/" }],
    [{ issuer: "https://IDP.example" }],
    [{ issuer: "", issuerPattern: "https://idp" }],
    [{ issuerPattern: "https://other.*" }],
    [{ issuerPattern: "https://.*" }],
    [{ issuer: "", issuerPattern: "https://[a-z]+\\.example" }],
    [{ issuer: "", issuerPattern: "https://idp.example" }, { iss: "https://idpxexample" }],
    [{ issuer: "", issuerPattern: "https://other.example|https://idp.example" }],
    [{ issuer: "", issuerPattern: "(" }],
    [{ subject: "repo:" }],
    [{ subject: "REPO:A" }],
    [{ subject: "", subjectPattern: "repo" }],
    [{ subjectPattern: "b.*" }],
    [{}, { aud: "other" }],
    [{}, { aud: "http://api.platform.example" }],
    [{}, { aud: "https://api.platform.example.evil.org" }],
    [{}, { aud: "platform.example" }],
    [{}, { aud: "https://api.platform.example/" }],
    [{}, { aud: "https://api.platform.example/base/" }],
    [{}, { aud: "api.platform.example/base/" }],
    [{}, { aud: "API.platform.example" }],
    [{}, { aud: "https://api.platform.example:443" }],
    [{}, { aud: "https://api.platform.example/base/x" }],
    [{ audience: "mine" }],
    [{ audiencePattern: "min" }, { aud: "mine" }],
    [{ audience: "mine", audiencePattern: "o.*" }, { aud: ["mine", "other"] }],
    [{ claims: { ref: "main" } }],
    [{ claims: { ref: "main" } }, { ref: "Main" }],
    [{ claims: { ref: "main" } }, { ref: ["main"] }],
    [{ claims: { ref: "main" } }, { ref: { main: true } }],
    [{ claims: { ref: "null" } }, { ref: null }],
    [{ claims: { "a.b": "c" } }, { a: { b: "c" } }],
    [{ claims: { toString: "x" } }],
    [{ claims: { constructor: "" } }],
    [{ claims: { big: "9007199254740992" } }, { big: 2 ** 53 }],
    [{ claims: { a: "1", b: "2" } }, { a: 1 }],
    [{ claimPatterns: { ref: ".*" } }],
    [{ claimPatterns: { ref: "ma" } }, { ref: "main" }],
    [{ claimPatterns: { ref: ".*" } }, { ref: ["main"] }],
    [{ claimPatterns: { ref: "(?=m)main" } }, { ref: "main" }],
  ];
  it.each(good)("%j matches %j", (change, claims) =>
    expect(matches(rule(change), token(claims), { defaults, nowMs: startMs })).toBe(true),
  );
  it.each(bad)("%j does not match %j", (change, claims) =>
    expect(matches(rule(change), token(claims), { defaults, nowMs: startMs })).toBe(false),
  );
});

describe("static keys", () => {
  const keys: StaticKeys = {
    kind: "static_keys",
    issuer: "https://idp.example",
    subject: "repo:a",
    issuerKeys: "{}",
    expireTimeMs: startMs + 1,
    audiences: [],
  };
  const cases: [Partial<StaticKeys>, Record<string, unknown>, boolean][] = [
    [{}, {}, true],
    [{}, { aud: "api.platform.example" }, true],
    [{ audiences: ["mine"] }, { aud: "mine" }, true],
    [{ audiences: ["mine"] }, {}, false],
    [{}, { aud: "other" }, false],
    [{ expireTimeMs: startMs }, {}, false],
    [{ issuer: "https://idp" }, {}, false],
    [{ subject: "repo:" }, {}, false],
  ];
  it.each(cases)("%j %j: %s", (change, claims, expected) =>
    expect(matches({ ...keys, ...change }, token(claims), { defaults, nowMs: startMs })).toBe(expected),
  );
});
