import { execFileSync } from "node:child_process";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ShortMap } from "../../../src/http/http2/short-map.ts";

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
    const kept = execFileSync(process.execPath, [
      "--expose-gc",
      "--no-concurrent-array-buffer-sweeping", // so that all of it is counted after a collection
      join(import.meta.dirname, "short-map-kept.ts"),
    ]);
    const { map, shortMap } = JSON.parse(kept.toString()) as Record<"map" | "shortMap", number>;
    expect(map).toBeGreaterThan(200); // or this test shows nothing
    expect(shortMap).toBeLessThanOrEqual(20);
  });
});
