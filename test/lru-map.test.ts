import { expect, it } from "vitest";
import { LruMap } from "../src/lru-map.ts";

it("keeps what is used and evicts the rest", () => {
  const map = new LruMap<string, number>(4);
  map.set("a", 1);
  map.set("b", 2);
  map.set("c", 3); // a and b are the older half
  expect(map.get("a")).toBe(1); // and a is used again
  map.set("d", 4); // b has not been used
  expect(["a", "b", "c", "d"].map((key) => map.get(key))).toEqual([1, undefined, 3, 4]);
});

it("never has more entries than its size, and has those used last", () => {
  const map = new LruMap<number, number>(10);
  const keys = Array.from({ length: 1000 }, (_, key) => key);
  for (const key of keys) map.set(key, key);
  const held = keys.filter((key) => map.get(key) !== undefined);
  expect(held.length).toBeLessThanOrEqual(10);
  expect(held.slice(-5)).toEqual([995, 996, 997, 998, 999]);
});

it("replaces, deletes and clears", () => {
  const map = new LruMap<string, number>(2);
  map.set("a", 1);
  map.set("a", 2);
  expect(map.get("a")).toBe(2);
  map.set("b", 3); // a is in the older half
  map.set("a", 4);
  map.delete("a");
  expect(map.get("a")).toBeUndefined();
  map.set("c", 5);
  map.clear();
  expect(map.get("c")).toBeUndefined();
});
