import { describe, expect, it, onTestFinished, test, vi } from "vitest";
import { fixedUid, newUid, randomUuid, userIdentityUid } from "../src/new-uid.ts";
import { ancestorsOf, covers, isUid, outermost, parentOf, rootOf } from "../src/uid.ts";

const root = "a".repeat(40);
const child = `${root}/${"1".repeat(16)}`;
const grandchild = `${child}/${"2".repeat(16)}`;

describe("isUid", () => {
  it.each([root, child, grandchild])("accepts %s", (uid) => expect(isUid(uid)).toBe(true));
  it.each([
    "",
    "/",
    root.slice(1),
    `${root}a`,
    root.toUpperCase(),
    `${root}/`,
    `/${root}`,
    `${root}//${"1".repeat(16)}`,
    `${root}/${"1".repeat(15)}`,
    `${root}\n`,
    `${root}/..`,
    `${root}${`/${"1".repeat(16)}`.repeat(60)}`,
  ])("refuses %j", (uid) => expect(isUid(uid)).toBe(false));
});

describe("newUid", () => {
  it("creates roots and children that are never the same", () => {
    const uids = Array.from({ length: 1000 }, (_, i) => newUid(i % 2 === 0 ? "" : root));
    expect(new Set(uids).size).toBe(1000);
    expect(uids.every(isUid)).toBe(true);
    expect(parentOf(newUid(child))).toBe(child);
  });

  it("makes neighbours of children that are created together, also by several processes", () => {
    vi.useFakeTimers({ now: 1_800_000_000_000 });
    onTestFinished(() => void vi.useRealTimers());
    const placeOf = (uid: string) => Number.parseInt(uid.slice(root.length + 1, root.length + 5), 16);
    const first = placeOf(newUid(root));
    expect(placeOf(newUid(root))).toBe(first);
    vi.advanceTimersByTime(16);
    expect(placeOf(newUid(root))).toBe((first + 1) % 0x10000);
    vi.advanceTimersByTime(16 * 0xffff);
    expect(placeOf(newUid(root))).toBe(first);
  });
});

describe("fixed uids", () => {
  it("are the first 40 hex digits of SHA-256 over the parts with NUL between", () => {
    expect(fixedUid("role", "viewer")).toMatch(/^[0-9a-f]{40}$/);
    expect(fixedUid("a", "b")).not.toBe(fixedUid("ab"));
    expect(userIdentityUid("https://issuer.example", "alice")).toBe(
      fixedUid("user", "https://issuer.example", "alice"),
    );
  });
});

describe("the hierarchy", () => {
  it("knows parents, roots and ancestors", () => {
    expect([parentOf(root), parentOf(child), parentOf(grandchild)]).toEqual(["", root, child]);
    expect([rootOf(root), rootOf(grandchild)]).toEqual([root, root]);
    expect(ancestorsOf(grandchild)).toEqual([root, child]);
    expect(ancestorsOf(root)).toEqual([]);
  });

  it.each([
    ["", root, true],
    [root, root, true],
    [root, grandchild, true],
    [child, root, false],
    [child, `${root}/${"1".repeat(15)}2`, false],
    [root, `${"a".repeat(39)}b`, false],
  ])("covers(%j, %j) is %s", (scope, uid, expected) => expect(covers(scope, uid)).toBe(expected));

  it("reduces scopes to the outermost ones", () => {
    expect(outermost([grandchild, child, root, child])).toEqual([root]);
    expect(outermost([child, "b".repeat(40)])).toEqual([child, "b".repeat(40)]);
    expect(outermost(["", root])).toEqual([""]);
    expect(outermost([])).toEqual([]);
  });
});

test("random UUIDs are of version 4, flat and different", () => {
  const uuids = Array.from({ length: 1000 }, randomUuid);
  for (const uuid of uuids) expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(new Set(uuids).size).toBe(uuids.length);
  for (let at = 0; at < 36; at++)
    expect(new Set(uuids.map((uuid) => uuid[at])).size).toBe([8, 13, 14, 18, 23].includes(at) ? 1 : at === 19 ? 4 : 16);
});
