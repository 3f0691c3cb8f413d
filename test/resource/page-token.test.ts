import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createPageTokens, type PageToken } from "../../src/resource/page-token.ts";

const token: PageToken = {
  method: "a.B.C",
  after: ["x", 5, null, "uid"],
  issueTimeMs: 1_700_000_040_000,
  query: { encoded: Buffer.from([1, 2, 3]) },
};

describe("page tokens", () => {
  const key = randomBytes(32);
  const tokens = createPageTokens(key);

  it("open what they sealed, on every server with the key", () => {
    expect(createPageTokens(key).open(tokens.seal(token))).toEqual(token);
    const digest = { ...token, query: { digest: Buffer.alloc(32, 7) } };
    expect(tokens.open(tokens.seal(digest))).toEqual(digest);
  });

  it("are safe in a URL and say nothing of what they hold", () => {
    const text = tokens.seal(token);
    expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(Buffer.from(text, "base64url").includes("a.B.C")).toBe(false);
  });

  it("are the same for the same page within a minute, on one server", () => {
    const text = tokens.seal(token);
    expect(tokens.seal({ ...token, issueTimeMs: token.issueTimeMs - 59_999 })).toBe(text);
    expect(tokens.seal({ ...token, issueTimeMs: token.issueTimeMs - 60_000 })).not.toBe(text);
    expect(tokens.seal({ ...token, issueTimeMs: token.issueTimeMs + 1 })).not.toBe(text);
    expect(tokens.seal({ ...token, after: [...token.after.slice(0, -1), "another"] })).not.toBe(text);
    expect(createPageTokens(key).seal(token)).not.toBe(text);
  });

  it.each([0, 1, 30_000, 59_999, 60_000])("are never older than they are, %i ms into a minute", (ms) => {
    const issueTimeMs = token.issueTimeMs + ms;
    expect(tokens.open(tokens.seal({ ...token, issueTimeMs }))!.issueTimeMs).toBeGreaterThanOrEqual(issueTimeMs);
  });

  it("refuse every damaged byte, foreign keys, and texts that only decode alike", () => {
    const text = tokens.seal(token);
    const bytes = Buffer.from(text, "base64url");
    for (const i of bytes.keys()) {
      const damaged = Buffer.from(bytes);
      damaged[i]! ^= 1;
      expect(tokens.open(damaged.toString("base64url"))).toBeUndefined();
    }
    for (const bad of [
      "",
      "AQ",
      text.slice(0, -1),
      `${text}A`,
      `${text}=`,
      ` ${text}`,
      createPageTokens(randomBytes(32)).seal(token),
    ]) {
      expect(tokens.open(bad)).toBeUndefined();
    }
  });
});
