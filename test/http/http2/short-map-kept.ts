/**
 * A program that prints how many of the entries that it has deleted a Map and a ShortMap still keep after collections
 * of young garbage. It runs by itself, with `--expose-gc`: garbage of other tests would count.
 */
import { ShortMap } from "../../../src/http/http2/short-map.ts";

const collect = globalThis.gc as (options?: { type: "minor" }) => void;
const bytes = 1000;

function keptBy(map: ShortMap<number, ArrayBuffer> | Map<number, ArrayBuffer>): number {
  const add = (key: number) => map.set(key, new ArrayBuffer(bytes));
  for (let key = 0; key < 20; key++) add(key);
  collect(); // the memory of the map itself is old now
  const before = process.memoryUsage().arrayBuffers;
  for (let key = 20; key < 2000; key++) {
    add(key);
    map.delete(key - 20);
  }
  for (let i = 0; i < 3; i++) collect({ type: "minor" });
  return (process.memoryUsage().arrayBuffers - before) / bytes;
}

process.stdout.write(JSON.stringify({ map: keptBy(new Map()), shortMap: keptBy(new ShortMap()) }));
