import { describe, expect, it } from "vitest";
import { keysAt, maxTokenLifeSeconds, publicationMs, type StoredKey } from "../../../src/auth/tokens/signing-keys.ts";
import { startMs } from "../local-issuer.ts";

const life = maxTokenLifeSeconds * 1000;
const key = (kid: string, ageMs: number): StoredKey => ({
  kid,
  privateJwk: {},
  createTime: new Date(startMs - ageMs).toISOString(),
});
const statesOf = (keys: readonly StoredKey[], nowMs = startMs) =>
  keysAt(keys, nowMs)
    .map(({ key: { kid }, state }) => `${kid} ${state}`)
    .join(", ");

describe("keysAt", () => {
  const cases: [StoredKey[], string][] = [
    [[key("a", 0)], "a signing"],
    [[key("a", -1000)], "a signing"],
    [[key("a", 10 * life)], "a signing"],
    [[key("a", 5000), key("b", 0)], "b published, a signing"],
    [[key("b", publicationMs - 1), key("a", life)], "b published, a signing"],
    [[key("b", publicationMs), key("a", life)], "b signing, a verifying"],
    [[key("b", publicationMs + life - 1), key("a", 2 * life)], "b signing, a verifying"],
    [[key("b", publicationMs + life), key("a", 2 * life)], "b signing, a retired"],
    [[key("a", life), key("b", 2000), key("c", 1000)], "c published, b published, a signing"],
    [[key("a", life), key("b", publicationMs), key("c", publicationMs - 1)], "c published, b signing, a verifying"],
    [[key("a", life), key("b", publicationMs + 1), key("c", publicationMs)], "c signing, b verifying, a verifying"],
    [[key("a", 9 * life), key("b", 4 * life), key("c", life)], "c signing, b verifying, a retired"],
  ];
  it.each(cases)("%#: %j are %s", (keys, states) => {
    expect(statesOf(keys)).toBe(states);
    expect(statesOf(keys.toReversed())).toBe(states);
  });

  it("says when", () => {
    const [next, signing] = keysAt([key("a", life), key("b", 0)], startMs);
    expect(next).toMatchObject({ signTimeMs: startMs + publicationMs, retireTimeMs: undefined });
    expect(signing).toMatchObject({ signTimeMs: startMs - life, retireTimeMs: startMs + publicationMs + life });
  });

  it("has nothing to say about no key", () => expect(keysAt([], startMs)).toEqual([]));
});
