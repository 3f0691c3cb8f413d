import { expect, test } from "vitest";
import { membersOf } from "../../../src/feeds/source/members.ts";

async function* inChunks(text: string, size: number) {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function read(text: string, { size = 3, maxBytes = 100 } = {}) {
  const members: [string, unknown][] = [];
  for await (const { name, bytes } of membersOf(inChunks(text, size), maxBytes))
    members.push([name, bytes && JSON.parse(Buffer.from(bytes).toString())]);
  return members;
}

const object = { a: 1, "b,}": [{ c: '"},{' }, [1, 2]], "é\\": {}, d: null };

test.each([1, 2, 3, 7, 1000])("an object in chunks of %i bytes", async (size) => {
  const expected = Object.entries(object).map(([name, value]) => [name, { [name]: value }]);
  for (const text of [JSON.stringify(object), JSON.stringify(object, null, 2), `\uFEFF ${JSON.stringify(object)}\n`]) {
    const members = await read(text, { size });
    expect(members.map(([, value]) => value)).toEqual(expected.map(([, value]) => value));
    expect(members.slice(0, 2).map(([name]) => name)).toEqual(["a", "b,}"]);
  }
});

test("an empty object has no members", async () => {
  expect(await read(" { } ")).toEqual([]);
});

test("a member that is too large is left out, and those after it are read", async () => {
  const text = JSON.stringify({ a: "x".repeat(500), b: 1 });
  for (const size of [7, 1000])
    expect(await read(text, { size })).toEqual([
      ["a", undefined],
      ["b", { b: 1 }],
    ]);
});

test.each([
  ["", "is empty"],
  ["[1]", "is not a JSON object"],
  ['{"a":1', "the object does not end"],
  ['{"a":"}', "the object does not end"],
  ['{"a":1} {}', "something follows the object"],
])("%j is refused", async (text, reason) => {
  await expect(read(text)).rejects.toThrow(reason);
});
