import { describe, expect, it } from "vitest";
import { checkPeriod, parseToken, TokenRejected } from "../../../src/auth/tokens/token.ts";
import { forge, startMs } from "../local-issuer.ts";

const header = { alg: "ES256", kid: "a" };
const claims = { iss: "https://idp.example", sub: "a", aud: "b", exp: 2_000_000_000 };
const json = JSON.stringify(claims);

describe("parseToken", () => {
  const good: [string, string][] = [
    ["minimal", forge({ alg: "RS256" }, claims)],
    ["typ JWT", forge({ ...header, typ: "JWT" }, claims)],
    ["typ jwt", forge({ ...header, typ: "jwt" }, claims)],
    ["typ at+jwt", forge({ ...header, typ: "at+jwt" }, claims)],
    ["a certificate's thumbprint", forge({ ...header, x5t: "a", "x5t#S256": "b" }, claims)],
    ["unknown members of the header", forge({ ...header, ver: 1, JWK: {} }, claims)],
    ["audience list", forge(header, { ...claims, aud: ["b", "c"] })],
    ["fractional dates", forge(header, { ...claims, exp: 2e9 + 0.5, nbf: 0.5, iat: 1 })],
    [
      "same names in different objects",
      forge(header, `{"a":{"a":{"b":1},"b":"\\"a\\":1"},"b":[{"a":1},{"a":2}],${json.slice(1)}`),
    ],
    ["a value that looks like a name", forge(header, `{"a":"iss","b":"a","c":["c","c"],"d":"\\\\",${json.slice(1)}`)],
    ["longest subject", forge(header, { ...claims, sub: "a".repeat(1024) })],
    ["unicode", forge(header, { ...claims, sub: "ä€😀" })],
  ];
  it.each(good)("reads %s", (_, text) => {
    const token = parseToken(text);
    expect(token.text).toBe(text);
    expect(token.claims.iss).toBe(claims.iss);
    expect(token.audiences[0]).toBe("b");
  });

  const raw = (bytes: number[]) => Buffer.from(bytes).toString("base64url");
  const [h, c, s] = forge(header, claims).split(".") as [string, string, string];
  const bad: [string, string][] = [
    ["empty", ""],
    ["no dots", "abc"],
    ["two parts", `${h}.${c}`],
    ["four parts", `${h}.${c}.${s}.${s}`],
    ["five parts (encrypted)", `${h}.${c}.${s}.${s}.${s}`],
    ["empty header", `.${c}.${s}`],
    ["empty claims", `${h}..${s}`],
    ["empty signature", `${h}.${c}.`],
    ["padding", `${h}.${c}.Zm9yZ2U=`],
    ["standard base64", `${h}.${c}.+/+/`],
    ["stray bits", `${h}.${c}.Zh`],
    ["impossible length", `${h}.${c}.Z`],
    ["space inside", `${h}.${c}.Zm9y Z2Vk`],
    ["line break at the end", `${h}.${c}.${s}\n`],
    ["too long by one", `${h}.${c}.${"A".repeat(8193 - h.length - c.length - 2)}`],
    ["too long", forge(header, { ...claims, a: "a".repeat(8192) })],
    ["header not JSON", `${raw([1, 2])}.${c}.${s}`],
    ["header not an object", forge([header], claims)],
    ["header null", forge(null, claims)],
    ["claims not an object", forge(header, '"a"')],
    ["claims a list", forge(header, [claims])],
    ["claims with trailing text", forge(header, `${json}x`)],
    ["byte order mark", forge(header, `\uFEFF${json}`)],
    ["malformed UTF-8", `${h}.${raw([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])}.${s}`],
    ["alg twice", forge('{"alg":"none","alg":"ES256"}', claims)],
    ["alg twice, once escaped", forge('{"\\u0061lg":"none","alg":"ES256"}', claims)],
    ["sub twice", forge(header, `{"sub":"admin",${json.slice(1)}`)],
    ["sub twice, spaces before the colon", forge(header, `{"sub" \n:"admin",${json.slice(1)}`)],
    ["a nested member twice", forge(header, `{"a":[{"b":{"c":1,"d":{},"c":2}}],${json.slice(1)}`)],
    ["__proto__ twice", forge(header, `{"__proto__":1,"__proto__":2,${json.slice(1)}`)],
    ["no alg", forge({}, claims)],
    ...[
      "none",
      "None",
      "NONE",
      "nOnE",
      "",
      "HS256",
      "HS384",
      "HS512",
      "es256",
      "ES512",
      "ES256K",
      "RS1",
      "RSA-OAEP",
      "dir",
      "Ed448",
    ].map((alg): [string, string] => [`alg ${alg}`, forge({ alg }, claims)]),
    ...[null, 1, ["ES256"], { a: 1 }, true].map((alg): [string, string] => [
      `alg ${JSON.stringify(alg)}`,
      forge({ alg }, claims),
    ]),
    ...["JWE", "JOSE", "dpop+jwt", "logout+jwt", "secevent+jwt", "", null, 1].map((typ): [string, string] => [
      `typ ${JSON.stringify(typ)}`,
      forge({ ...header, typ }, claims),
    ]),
    ["crit", forge({ ...header, crit: ["exp"] }, claims)],
    ["empty crit", forge({ ...header, crit: [] }, claims)],
    ["crit with b64", forge({ ...header, crit: ["b64"], b64: false }, claims)],
    ["crit null", forge({ ...header, crit: null }, claims)],
    ...[
      { jwk: {} },
      { jwk: { kty: "EC", crv: "P-256", x: "a", y: "b" } },
      { jwk: null },
      { jku: "https://evil.example/keys" },
      { x5u: "https://evil.example/certificate" },
      { x5c: ["MII"] },
      { x5c: [] },
    ].map((members): [string, string] => [JSON.stringify(members), forge({ ...header, ...members }, claims)]),
    ["kid a number", forge({ ...header, kid: 1 }, claims)],
    ["kid empty", forge({ ...header, kid: "" }, claims)],
    ["alg from the prototype", forge('{"__proto__":{"alg":"ES256"}}', claims)],
    ...["iss", "sub", "aud", "exp"].flatMap((name): [string, string][] => [
      [`no ${name}`, forge(header, { ...claims, [name]: undefined })],
      ...[null, true, {}, ""].map((value): [string, string] => [
        `${name} ${JSON.stringify(value)}`,
        forge(header, { ...claims, [name]: value }),
      ]),
    ]),
    ["iss a number", forge(header, { ...claims, iss: 1 })],
    ["sub a number", forge(header, { ...claims, sub: 1 })],
    ["sub a list", forge(header, { ...claims, sub: ["a"] })],
    ["sub with NUL", forge(header, { ...claims, sub: "a\0" })],
    ["sub with a line break", forge(header, { ...claims, sub: "a\nb" })],
    ["sub with a lone surrogate", forge(header, `{"sub":"\\ud800","iss":"i","aud":"b","exp":1}`)],
    ["sub too long", forge(header, { ...claims, sub: "a".repeat(1025) })],
    ["empty audience list", forge(header, { ...claims, aud: [] })],
    ["audience list with a number", forge(header, { ...claims, aud: ["b", 1] })],
    ["nested audience list", forge(header, { ...claims, aud: [["b"]] })],
    ["exp a text", forge(header, { ...claims, exp: "2000000000" })],
    ["exp infinite", forge(header, `{"iss":"i","sub":"a","aud":"b","exp":1e999}`)],
    ["exp beyond every calendar", forge(header, { ...claims, exp: 1e15 })],
    ["exp negative", forge(header, { ...claims, exp: -1 })],
    ["nbf a text", forge(header, { ...claims, nbf: "0" })],
    ["nbf null", forge(header, { ...claims, nbf: null })],
    ["iat a text", forge(header, { ...claims, iat: "0" })],
    ["iat infinite", forge(header, `{"iat":1e999,${json.slice(1)}`)],
  ];
  it.each(bad)("refuses %s", (_, text) => expect(() => parseToken(text)).toThrow(TokenRejected));
});

describe("checkPeriod", () => {
  const now = startMs / 1000;
  const cases: [Record<string, number>, boolean][] = [
    [{ exp: now + 1 }, true],
    [{ exp: now - 59.999 }, true],
    [{ exp: now - 60 }, false],
    [{ exp: now - 61 }, false],
    [{ exp: now + 100, nbf: now, iat: now }, true],
    [{ exp: now + 100, nbf: now + 60 }, true],
    [{ exp: now + 100, nbf: now + 61 }, false],
    [{ exp: now + 100, iat: now + 60 }, true],
    [{ exp: now + 100, iat: now + 61 }, false],
  ];
  it.each(cases)("%j: %s", (dates, accepted) => {
    const check = () => checkPeriod({ ...claims, ...dates }, startMs);
    if (accepted) check();
    else expect(check).toThrow(TokenRejected);
  });
});
