import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ShortMap } from "../src/short-map.ts";

describe("a short map", () => {
  it("answers as Map does", () => {
    const key = fc.integer({ min: 0, max: 5 });
    const call = fc.oneof(fc.tuple(fc.constant("set"), key), fc.tuple(fc.constant("delete"), key));
    fc.assert(
      fc.property(fc.array(call), (calls) => {
        const [ours, theirs] = [new ShortMap<number, number>(), new Map<number, number>()];
        for (const [i, [name, at]] of calls.entries()) {
          if (name === "delete") expect(ours.delete(at)).toBe(theirs.delete(at));
          else {
            ours.set(at, i);
            theirs.set(at, i);
          }
          expect(ours.size).toBe(theirs.size);
          for (const known of [0, 1, 2, 3, 4, 5]) expect(ours.get(known)).toBe(theirs.get(known));
        }
        const visited: [number, number][] = [];
        ours.forEach((value, known) => {
          visited.push([known, value]);
        });
        expect(visited.sort()).toEqual([...theirs].sort());
      }),
    );
  });

  it("may be emptied by a visit", () => {
    const map = new ShortMap<string, number>().set("a", 1).set("b", 2).set("c", 3);
    const visited: string[] = [];
    map.forEach((_value, key) => {
      visited.push(key);
      map.delete(key);
    });
    expect(visited).toEqual(["a", "b", "c"]);
    expect(map.size).toBe(0);
  });

  it("keeps nothing that has gone, where Map does until the next full collection", () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as (options?: { type: "minor" }) => void;
    const bytes = 1000;

    function keptBy(map: ShortMap<number, ArrayBuffer> | Map<number, ArrayBuffer>): number {
      const add = (key: number) => map.set(key, new ArrayBuffer(bytes));
      for (let key = 0; key < 20; key++) add(key);
      collect(); // what the map is made of is old now
      const before = process.memoryUsage().arrayBuffers;
      for (let key = 20; key < 2000; key++) {
        add(key);
        map.delete(key - 20);
      }
      for (let i = 0; i < 3; i++) collect({ type: "minor" });
      return (process.memoryUsage().arrayBuffers - before) / bytes;
    }

    expect(keptBy(new Map())).toBeGreaterThan(200); // or this test shows nothing
    expect(keptBy(new ShortMap())).toBeLessThanOrEqual(20);
  });
});
