/** Tasks in the order of what they depend on. */
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { cycleIn, runInOrder } from "../../../src/remote/apply/schedule.ts";

const graph: Readonly<Record<string, readonly string[]>> = { a: [], b: ["a"], c: ["a"], d: ["b", "c"], e: [] };
const nodes = Object.keys(graph).reverse();
const dependencies = (node: string) => graph[node]!;

test("each runs after all that it depends on", async () => {
  const done: string[] = [];
  const task = async (node: string) => {
    expect(done).toEqual(expect.arrayContaining([...dependencies(node)]));
    await setTimeout(1);
    done.push(node);
    return true;
  };
  await runInOrder(nodes, dependencies, task, expect.fail);
  expect(done.toSorted()).toEqual(["a", "b", "c", "d", "e"]);
});

test("what depends on one that fails is skipped, once, and the others run", async () => {
  const [done, skipped]: [string[], string[][]] = [[], []];
  const task = async (node: string) => {
    done.push(node);
    return node !== "b";
  };
  await runInOrder(nodes, dependencies, task, (node, failed) => void skipped.push([node, failed]));
  expect(done.toSorted()).toEqual(["a", "b", "c", "e"]);
  expect(skipped).toEqual([["d", "b"]]);
});

test("as many run at a time as may, and none after it is stopped", async () => {
  const all = Array.from({ length: 20 }, (_, i) => i);
  let [running, most, count] = [0, 0, 0];
  const task = async () => {
    most = Math.max(most, ++running);
    count++;
    await setTimeout(1);
    running--;
    return true;
  };
  await runInOrder(all, () => [], task, expect.fail);
  expect([most, count]).toEqual([8, 20]);
  [most, count] = [0, 0];
  await runInOrder(
    all,
    () => [],
    task,
    expect.fail,
    () => count === 7,
    3,
  );
  expect([most, count]).toEqual([3, 7]);
});

test("an error ends it", async () => {
  const task = async () => {
    throw new Error("away");
  };
  await expect(runInOrder(nodes, dependencies, task, expect.fail)).rejects.toThrow("away");
});

test("a cycle is found, and no other path", () => {
  expect(cycleIn(nodes, dependencies)).toBeUndefined();
  const cyclic: Record<string, readonly string[]> = { ...graph, a: ["d"] };
  expect(cycleIn(["e", "a", "b", "c", "d"], (node) => cyclic[node]!)).toEqual(["a", "d", "b"]);
});
