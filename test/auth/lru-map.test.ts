import { expect, it } from "vitest";
import { LruMap } from "../../src/auth/lru-map.ts";

it("forgets the entry used longest ago", () => {
  const map = new LruMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  expect(map.get("a")).toBe(1);
  map.set("c", 3);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([1, undefined, 3]);
  map.set("a", 4);
  map.set("d", 5);
  expect([map.get("a"), map.get("c"), map.get("d")]).toEqual([4, undefined, 5]);
  map.delete("a");
  expect(map.get("a")).toBeUndefined();
});
