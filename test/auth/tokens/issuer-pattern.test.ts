import { describe, expect, it } from "vitest";
import { matchesIssuerPattern, originOfIssuer, originOfPattern } from "../../../src/auth/tokens/issuer-pattern.ts";

describe("originOfPattern", () => {
  const good: [pattern: string, origin: string][] = [
    ["https://login\\.example\\.com/[a-z]+/v2\\.0", "https://login.example.com"],
    ["https://login.example.com/.*", "https://login.example.com"],
    ["^https://login\\.example\\.com$", "https://login.example.com"],
    ["https:\\/\\/login\\.example\\.com\\/x", "https://login.example.com"],
    ["https://my-host:8443/(a|b|[c|d]+)", "https://my-host:8443"],
    ["https://h/a\\|b", "https://h"],
    ["https://h/(?:(a|b)|c)?", "https://h"],
    ["https://h/[(|]", "https://h"],
    ["https://h/[]|]", "https://h"],
    ["https://\\[2001:db8::1\\]/.*", "https://[2001:db8::1]"],
    ["http://localhost:1234/.*", "http://localhost:1234"],
    ["http://127\\.0\\.0\\.1/.*", "http://127.0.0.1"],
    ["http://\\[::1\\]:80/x", "http://[::1]:80"],
  ];
  const bad = [
    "",
    ".*",
    "https://.*",
    "https://.*\\.example\\.com/x",
    "https://[a-z]+\\.example\\.com/x",
    "https://(a|b)\\.example/x",
    "https://a\\.example|https://b\\.example",
    "https://a\\.example/x|https://b\\.example/x",
    "https://a\\.example/(x)|y",
    "https://a\\.example/\\(|y\\)",
    "https://exampl?e/x",
    "https://example.*/x",
    "https://example+/x",
    "https://example{2}/x",
    "https://example\\w/x",
    "https://h:[0-9]+/x",
    "https://h(/x)?",
    "https://user@h/x",
    "https?://h/x",
    "(?i)https://h/x",
    "(https://h/x)",
    "x|https://h/x",
    "http://h/x",
    "http://localhost.example/x",
    "ftp://h/x",
    "https://h\\",
  ];
  it.each(good)("of %s is %s", (pattern, origin) => expect(originOfPattern(pattern)).toBe(origin));
  it.each(bad)("is not there in %s", (pattern) => expect(originOfPattern(pattern)).toBeUndefined());

  it("takes a time in proportion to the pattern", () => {
    for (const pattern of [
      "(".repeat(1000),
      "[".repeat(1000),
      "(a|".repeat(300),
      `${"(".repeat(500)}${")".repeat(500)}`,
    ])
      originOfPattern(`https://h/${pattern}`);
    expect(originOfPattern(`https://${"a.".repeat(500)}`)).toBeUndefined();
  });
});

describe("originOfIssuer", () => {
  const cases: [issuer: string, origin: string | undefined][] = [
    ["https://h", "https://h"],
    ["https://h/a/b", "https://h"],
    ["https://h?x", "https://h"],
    ["https://h:443/", "https://h:443"],
    ["https://a@h/x", "https://a@h"],
    ["origin https://h", undefined],
    ["carried https://h", undefined],
    ["issuer", undefined],
  ];
  it.each(cases)("of %s is %s", (issuer, origin) => expect(originOfIssuer(issuer)).toBe(origin));
});

it("matches the whole issuer, at the pattern's origin only", () => {
  const pattern = "https://login.example.com/[a-z]+";
  const matching = ["https://login.example.com/acme"];
  const others = [
    "https://login.example.com/",
    "https://login.example.com/acme/x",
    "https://loginxexample.com/acme",
    "https://login.example.com.evil.org/acme",
    "https://login.example.com@evil.org/acme",
    "https://LOGIN.example.com/acme",
    "http://login.example.com/acme",
  ];
  expect(matching.filter((issuer) => matchesIssuerPattern(pattern, issuer))).toEqual(matching);
  expect(others.filter((issuer) => matchesIssuerPattern(pattern, issuer))).toEqual([]);
});
