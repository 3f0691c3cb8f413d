import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createSecrets } from "../src/sealing.ts";

const key = randomBytes(32);
const secrets = createSecrets([key]);

describe("secrets", () => {
  it.each(["s3cret", "", "ünï\u{1f600}", "x".repeat(1024)])("open as they were sealed: %j", (secret) => {
    const sealed = secrets.seal(secret, "a/b client_secret");
    expect(sealed).toMatch(/^[\w-]+$/);
    expect(secrets.open(sealed, "a/b client_secret")).toBe(secret);
    if (secret !== "") expect(Buffer.from(sealed, "base64url").includes(secret)).toBe(false);
  });

  it("look different every time", () => {
    expect(secrets.seal("s", "p")).not.toBe(secrets.seal("s", "p"));
  });

  it("open only at their place, with their key, unchanged", () => {
    const sealed = secrets.seal("s3cret", "p");
    expect(secrets.open(sealed, "q")).toBeUndefined();
    expect(createSecrets([randomBytes(32)]).open(sealed, "p")).toBeUndefined();
    const bytes = Buffer.from(sealed, "base64url");
    for (const at of bytes.keys()) {
      const broken = Buffer.from(bytes);
      broken[at]! ^= 1;
      expect(secrets.open(broken.toString("base64url"), "p"), `byte ${at}`).toBeUndefined();
    }
    for (const text of ["", "s3cret", sealed.slice(0, 30)]) expect(secrets.open(text, "p")).toBeUndefined();
  });

  it("stay readable when a new key takes over", () => {
    const renewed = createSecrets([randomBytes(32), key]);
    expect(renewed.open(secrets.seal("s", "p"), "p")).toBe("s");
    expect(secrets.open(renewed.seal("s", "p"), "p")).toBeUndefined();
  });

  it("need a key", () => {
    expect(() => createSecrets([])).toThrow("key");
  });
});
