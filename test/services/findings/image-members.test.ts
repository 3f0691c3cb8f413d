/** Numbers of components, and what images contain by number, against maps of texts. */
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ComponentNumbers } from "../../../src/services/findings/known/component-numbers.ts";
import { ImageMembers, sinceMsIn } from "../../../src/services/findings/known/image-members.ts";
import { imageBody } from "../../../src/services/matches/image-body.ts";

const newIds = (count: number) => Array.from({ length: count }, () => randomBytes(8).toString("hex"));

describe("numbers of components", () => {
  test("are those of their order, however many there are", () => {
    const ids = newIds(10_000);
    const numbers = new ComponentNumbers();
    expect(ids.map((id) => numbers.numberOf(id))).toEqual(ids.map((_, i) => i));
    expect(ids.map((id) => numbers.numberOf(id))).toEqual(ids.map((_, i) => i));
    expect(ids.map((_, i) => numbers.idOf(i))).toEqual(ids);
    expect(numbers.size).toBe(10_000);
  });

  test("tell ids apart that differ in one half", () => {
    const ids = ["0000000000000000", "0000000000000001", "0000000100000000", "ffffffffffffffff", "ffffffff00000000"];
    const numbers = new ComponentNumbers();
    for (const id of ids) numbers.numberOf(id);
    expect(ids.map((id) => numbers.known(id))).toEqual([0, 1, 2, 3, 4]);
    expect(ids.map((_, i) => numbers.idOf(i))).toEqual(ids);
  });

  test("are not given to ids that are only looked up", () => {
    const numbers = new ComponentNumbers();
    expect(numbers.known("0000000000000000")).toBeUndefined();
    expect(numbers.size).toBe(0);
  });
});

describe("what images contain", () => {
  test.each([0, 1, 500, 5000, 70_000])("is read of a body of %i components", (count) => {
    const numbers = new ComponentNumbers();
    const members = new ImageMembers(numbers);
    const since = new Map(newIds(count).map((id, i) => [id, (1_700_000_000 + (i % 3)) * 1000]));
    const first = members.read(imageBody({ since, owners: new Map() }));
    const again = members.read(imageBody({ since, owners: new Map() }));
    const absent = newIds(1).map((id) => numbers.numberOf(id))[0]!;
    for (const read of [first, again]) {
      expect([...read.numbers]).toEqual([...since.keys()].map((id) => numbers.known(id)!).sort((a, b) => a - b));
      expect([...since].filter(([id, ms]) => sinceMsIn(read, numbers.known(id)!) !== ms)).toEqual([]);
      expect(sinceMsIn(read, absent)).toBeUndefined();
    }
    expect(members.count).toBe(2 * count);
  });

  test("has other numbers for components with owners, in each of which they have one", () => {
    const numbers = new ComponentNumbers();
    const members = new ImageMembers(numbers);
    const [owned, first, second, ...others] = newIds(3000) as [string, string, string, ...string[]];
    const contents = [owned, first, second, ...others];
    const since = new Map(contents.map((id) => [id, 1_700_000_000_000]));
    const readWith = (owner?: string) =>
      members.read(imageBody({ since, owners: new Map(owner === undefined ? [] : [[owned, owner]]) }));
    const all = [readWith(), readWith(first), readWith(second), readWith(first)];
    const component = numbers.known(owned)!;
    const [, ofFirst, ofSecond] = numbers.allNumbersOf(component) as [number, number, number];
    expect(numbers.allNumbersOf(component)).toEqual([component, ofFirst, ofSecond]);
    expect(all.map((image) => [component, ofFirst, ofSecond].map((number) => image.numbers.includes(number)))).toEqual([
      [true, false, false],
      [false, true, false],
      [false, false, true],
      [false, true, false],
    ]);
    for (const image of all) {
      expect(image.numbers).toEqual(image.numbers.toSorted());
      expect(image.numbers).toHaveLength(contents.length);
    }
    expect(numbers.variant(ofSecond)).toEqual({ component, of: component, owner: numbers.known(second) });
    expect(numbers.variant(component)).toBeUndefined();
    newIds(20_000).map((id) => numbers.numberOf(id)); // the tables grow
    expect([numbers.known(owned), numbers.idOf(ofFirst)]).toEqual([component, owned]);
  });

  test("does not change when others are read", () => {
    const members = new ImageMembers(new ComponentNumbers());
    const body = () =>
      imageBody({ since: new Map(newIds(300).map((id) => [id, 1_700_000_000_000])), owners: new Map() });
    const all = Array.from({ length: 1000 }, () => members.read(body()));
    const copies = all.map(({ numbers }) => [...numbers]);
    for (let i = 0; i < 1000; i++) members.read(body());
    expect(all.map(({ numbers }) => [...numbers])).toEqual(copies);
  });
});
