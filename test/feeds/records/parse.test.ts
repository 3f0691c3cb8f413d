import { expect, test } from "vitest";
import { parseRecords } from "../../../src/feeds/records/parse.ts";
import type { FileFormat } from "../../../src/feeds/source/feed.ts";
import { FeedRefusal } from "../../../src/feeds/source/refusal.ts";

const parse = async (format: FileFormat, content: string | Uint8Array) =>
  (await parseRecords({ name: "f", format, bytes: Buffer.from(content) })).map(({ name, value }) => [name, value]);

test.each<[string, FileFormat, string, unknown]>([
  ["a JSON object", "json", '{"a":[1,"x",null,true]}', { a: [1, "x", null, true] }],
  ["a byte order mark", "json", "\uFEFF{}", {}],
  [
    "brackets in text",
    "json",
    `{"a":"${"[".repeat(200)}\\"${"{".repeat(200)}"}`,
    { a: `${"[".repeat(200)}"${"{".repeat(200)}` },
  ],
  ["one name in several objects", "json", '{"a":{"a":[{"a":"a:","b":":"},{"a":1}]},"b":"\\":"}', expect.any(Object)],
  ["nesting up to the limit", "json", "[".repeat(100) + "]".repeat(100), expect.any(Array)],
  ["versions", "yaml", "a: 1.10\nb: 0x1F\nc: 1_000\nd: 1e3", { a: "1.10", b: "0x1F", c: "1_000", d: "1e3" }],
  ["dates and times", "yaml", "a: 2026-01-02\nb: 2026-01-02T03:04:05Z", { a: "2026-01-02", b: "2026-01-02T03:04:05Z" }],
  ["words that YAML 1.1 takes for others", "yaml", "a: no\nb: on\nc: true", { a: "no", b: "on", c: "true" }],
  ["nothing", "yaml", "a:\nb: ~\nc: null\nd: ''", { a: null, b: null, c: null, d: "" }],
  ["a handful of aliases", "yaml", "a: &x [1]\nb: *x\nc: *x", { a: ["1"], b: ["1"], c: ["1"] }],
  ["merge keys as they stand", "yaml", "a: &x {y: 1}\nb:\n  <<: *x", { a: { y: "1" }, b: { "<<": { y: "1" } } }],
])("%s", async (_, format, text, value) => {
  expect(await parse(format, text)).toEqual([["f", value]]);
});

test("a name of Object.prototype is a normal field", async () => {
  for (const [format, text] of [
    ["json", '{"__proto__":{"polluted":1}}'],
    ["yaml", "__proto__: {polluted: 1}"],
  ] as const) {
    const [[, value]] = (await parse(format, text)) as [[string, object]];
    expect(Object.hasOwn(value, "__proto__")).toBe(true);
    expect("polluted" in {}).toBe(false);
    expect(Object.getPrototypeOf(value)).not.toHaveProperty("polluted");
  }
});

test("each document of a YAML stream is a record", async () => {
  expect(await parse("yaml", "---\na: 1\n---\n---\na: 2\n")).toEqual([
    ["f#1", { a: "1" }],
    ["f#2", { a: "2" }],
  ]);
});

const bomb = Array.from({ length: 20 }, (_, i) => `a${i}: &a${i} [${i === 0 ? "x" : `*a${i - 1}, *a${i - 1}`}]`).join(
  "\n",
);

test.each<[string, FileFormat, string | Uint8Array, RegExp]>([
  ["no JSON", "json", "{", /^is not JSON/],
  ["nothing", "json", "", /^is not JSON/],
  ["a member twice", "json", '{"id":"a","id":"b"}', /^id: occurs twice in its object$/],
  ["a member twice, with an escape", "json", '{"id":"a","\\u0069d" : "b"}', /^id: occurs twice/],
  ["`__proto__` twice", "json", '{"__proto__":{},"__proto__":{}}', /^__proto__: occurs twice/],
  [
    "a member twice far below",
    "json",
    '{"a":":","b":[{},{"c":[1,[{"d":1,"e":{"d":2},"d":3}]]}]}',
    /^b\[1\]\.c\[1\]\[0\]\.d: occurs/,
  ],
  ["a member twice in YAML", "yaml", "id: a\nid: b\n", /^is not YAML: duplicated mapping key/],
  ["nothing", "yaml", "", /^is empty$/],
  ["a comment alone", "yaml", "# nothing\n", /^is empty$/],
  ["NUL between letters", "json", Buffer.from("{}", "utf16le"), /^is UTF-16 or UTF-32/],
  ["UTF-16", "json", Buffer.from("\uFEFF{}", "utf16le"), /^is UTF-16/],
  ["UTF-16 the other way round", "yaml", Buffer.from("\uFEFFa: 1", "utf16le").swap16(), /^is UTF-16/],
  ["Latin-1", "json", Buffer.from('"é"', "latin1"), /^is not UTF-8$/],
  ["half a character", "yaml", Buffer.from("c3", "hex"), /^is not UTF-8$/],
  ["too deep JSON", "json", "[".repeat(101) + "]".repeat(101), /^nests deeper than 100$/],
  ["deep JSON that never ends", "json", "[".repeat(10_000_000), /^nests deeper than 100$/],
  ["too many objects", "json", `[${"{},".repeat(1_000_000)}{}]`, /^contains more than 1000000/],
  ["too deep YAML", "yaml", "[".repeat(101) + "]".repeat(101), /^is not YAML/],
  ["an alias bomb", "yaml", bomb, /^is not YAML/],
  ["an alias of itself", "yaml", `a: &x\n${"  - *x\n".repeat(20)}`, /^is not YAML/],
  ["too much YAML", "yaml", `a: ${"x".repeat(4 * 1024 * 1024)}`, /^is YAML of more than 4194304 bytes$/],
  ["a tag for other types", "yaml", "a: !!int 1", /^is not YAML/],
  ["a tag for functions", "yaml", 'a: !!js/function "function () {}"', /^is not YAML/],
  ["a key twice", "yaml", "a: 1\na: 2", /^is not YAML/],
  ["XML", "xml", "<a/>", /^is neither JSON nor YAML$/],
])("%s is refused as %s", async (_, format, content, reason) => {
  const refusal = await parse(format, content).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(FeedRefusal);
  expect((refusal as Error).message).toMatch(reason);
});
