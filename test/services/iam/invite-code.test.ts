import { describe, expect, it } from "vitest";
import { createInviteCode, keyIdOf, matchesDigest } from "../../../src/services/iam/invite-code.ts";

const group = "0123456789abcdef0123456789abcdef01234567";
const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");

describe("a code", () => {
  it("is base64 of a JSON object that begins with the group", () => {
    const { code, keyId } = createInviteCode(group);
    const json = Buffer.from(code, "base64").toString("utf8");
    expect(json).toMatch(
      /^\{"grp":"0123456789abcdef0123456789abcdef01234567","kid":"[0-9a-f]{16}","sec":"[\w-]{43}"\}$/,
    );
    expect(JSON.parse(json).kid).toBe(keyId);
    expect(keyIdOf(code)).toBe(keyId);
  });

  it("has 256 bits that no other code has", () => {
    const secrets = Array.from({ length: 100 }, () => {
      const { sec } = JSON.parse(Buffer.from(createInviteCode(group).code, "base64").toString("utf8"));
      return sec as string;
    });
    expect(new Set(secrets).size).toBe(100);
    for (const secret of secrets) expect(Buffer.from(secret, "base64url")).toHaveLength(32);
  });

  it("is known by its whole text", () => {
    const { code, digest } = createInviteCode(group);
    const { kid, sec } = JSON.parse(Buffer.from(code, "base64").toString("utf8"));
    expect(matchesDigest(code, digest)).toBe(true);
    const others = [
      createInviteCode(group).code,
      text({ grp: `${group}/0123456789abcdef`, kid, sec }),
      text({ grp: group, kid, sec, more: 1 }),
      `${code} `,
      code.replace(/=*$/, "!"),
      digest,
      "",
    ];
    for (const other of others) expect(matchesDigest(other, digest)).toBe(false);
    for (const other of [code, ...others]) expect(matchesDigest(other)).toBe(false);
  });
});

describe("the key id", () => {
  const malformed: [string, string][] = [
    ["nothing", ""],
    ["no base64", "???"],
    ["no JSON", Buffer.from("grp").toString("base64")],
    ["no UTF-8", Buffer.of(0xff, 0xfe).toString("base64")],
    ["null", text(null)],
    ["a list", text(["kid"])],
    ["no key id", text({ grp: group })],
    ["a number for key id", text({ grp: group, kid: 1 })],
    ["a key id inherited", text({ grp: group, __proto__: { kid: "0011223344556677" } })],
  ];
  it.each(malformed)("is empty in %s", (_, code) => expect(keyIdOf(code)).toBe(""));
});
