import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { fileForTest, folderForTest, readFeed } from "../read-feed.ts";
import { tarOf, zipOf } from "./archives.ts";

const members = [
  { name: "./a/1.json", content: "{}" },
  { name: "a/readme.md", content: "no record" },
  { name: "a/2.YAML", content: "id: x" },
  { name: "b.yml", content: "id: y" },
  { name: "c.xml", content: "<c/>" },
  { name: "d.jsonl", content: '{"n":1}\n\n{"n":2}' },
];
const expected = {
  files: {
    "a/1.json": "{}",
    "a/2.YAML": "id: x",
    "b.yml": "id: y",
    "c.xml": "<c/>",
    "d.jsonl:1": '{"n":1}',
    "d.jsonl:3": '{"n":2}',
  },
  formats: ["json", "yaml", "yaml", "xml", "json", "json"],
  refused: {},
  skipped: ["a/readme.md"],
};

describe("the files are the same from", () => {
  test.each([
    ["a zip file", async () => zipOf(...members)],
    ["a tar archive", () => tarOf(...members)],
    ["a compressed tar archive", async () => gzipSync(await tarOf(...members))],
  ])("%s, whatever its name", async (_, make) => {
    expect(await readFeed(await fileForTest("feed", await make()))).toEqual(expected);
  });

  test("a directory, in the order of names", async () => {
    const folder = await folderForTest();
    for (const { name, content } of [...members].reverse()) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content);
    }
    const seen = await readFeed(folder);
    expect(seen).toEqual({ ...expected, formats: ["json", "yaml", "yaml", "xml", "json", "json"] });
    expect(Object.keys(seen.files)).toEqual(["a/1.json", "a/2.YAML", "b.yml", "c.xml", "d.jsonl:1", "d.jsonl:3"]);
  });
});

test.each<[string, string, string | Uint8Array, string[], string[]]>([
  ["a JSON file", "a.json", '{"id":\n1}', ["a.json"], ["json"]],
  ["JSON without a name that says so", "feed", '{"id":\n1}', ["feed"], ["json"]],
  ["one line of JSON", "feed", '{"id":1}', ["feed"], ["json"]],
  [
    "JSON lines without a name that says so",
    "feed",
    '\uFEFF{"id":1}\n{"id":2}\n',
    ["feed:1", "feed:2"],
    ["json", "json"],
  ],
  ["YAML without a name that says so", "feed.txt", "id: 1", ["feed.txt"], ["yaml"]],
  ["XML without a name that says so", "feed", " <a/>", ["feed"], ["xml"]],
  ["compressed JSON lines", "a.ndjson.gz", gzipSync("{}\n{}"), ["a.ndjson:1", "a.ndjson:2"], ["json", "json"]],
  ["compressed YAML under a false name", "a.json", gzipSync("id: 1"), ["a.json"], ["json"]],
  ["nothing", "a.json", "", ["a.json"], ["json"]],
])("%s is a feed", async (_, name, content, names, formats) => {
  const seen = await readFeed(await fileForTest(name, content));
  expect([Object.keys(seen.files), seen.formats, seen.refused]).toEqual([names, formats, {}]);
});

test("other names are read if selected", async () => {
  const path = await fileForTest(
    "feed.zip",
    zipOf({ name: "x/METADATA", content: "Name: x" }, { name: "y.whl", content: "y" }),
  );
  const seen = await readFeed(path, { also: (name) => name.endsWith("/METADATA") });
  expect(seen).toEqual({ files: { "x/METADATA": "Name: x" }, formats: ["other"], refused: {}, skipped: ["y.whl"] });
});

test("a location that does not exist or is not a file is refused", async () => {
  const folder = await folderForTest();
  expect((await readFeed(join(folder, "none"))).refused[join(folder, "none")]).toMatch(/ENOENT/);
  expect((await readFeed("/dev/null")).refused).toEqual({ "/dev/null": "is neither a file nor a directory" });
});

describe("hostile", () => {
  const good = { name: "good.json", content: "{}" };
  const outside = "its name is outside of the feed";

  test.each(["../a.json", "a/../../b.json", "/etc/a.json", "a\\..\\b.json", "C:/a.json", "a\nb.json"])(
    "the name %j is refused in an archive, and what follows is read",
    async (name) => {
      for (const bytes of [zipOf({ name, content: "{}" }, good), await tarOf({ name, content: "{}" }, good)]) {
        const seen = await readFeed(await fileForTest("feed", bytes));
        expect(Object.values(seen.refused)).toEqual([outside]);
        expect(seen.files).toEqual({ "good.json": "{}" });
      }
    },
  );

  test("a name with NUL is refused in a zip file", async () => {
    const seen = await readFeed(await fileForTest("feed", zipOf({ name: "a\0.json", content: "{}" }, good)));
    expect([seen.refused, Object.keys(seen.files)]).toEqual([{ "a\0.json": outside }, ["good.json"]]);
  });

  test("a second file of the same name is refused", async () => {
    const twice = [good, { name: "./good.json", content: "[]" }];
    for (const bytes of [zipOf(...twice), await tarOf(...twice)]) {
      const seen = await readFeed(await fileForTest("feed", bytes));
      expect([seen.files, seen.refused]).toEqual([{ "good.json": "{}" }, { "good.json": "occurs twice" }]);
    }
  });

  test("encrypted, wrongly sized and damaged files of a zip are refused individually", async () => {
    const bytes = zipOf(
      { name: "secret.json", content: "{}", flags: 1 },
      { name: "small.json", content: "[1,2,3,4]", claimedSize: 2 },
      { name: "large.json", content: "[1,2]", claimedSize: 900 },
      { name: "broken.json", content: "['unmistakable']" },
      good,
    );
    const at = bytes.indexOf("broken.json") + "broken.json".length;
    bytes.fill(0xff, at, at + 4);
    const seen = await readFeed(await fileForTest("feed", bytes));
    expect(Object.keys(seen.files)).toEqual(["good.json"]);
    expect(Object.keys(seen.refused)).toEqual(["secret.json", "small.json", "large.json", "broken.json"]);
    expect(seen.refused["secret.json"]).toBe("is encrypted");
  });

  test("a record that is too large is refused, the next one is read", async () => {
    const large = { name: "large.json", content: `"${"a".repeat(5000)}"` };
    for (const bytes of [zipOf(large, good), await tarOf(large, good), gzipSync(await tarOf(large, good))]) {
      const seen = await readFeed(await fileForTest("feed", bytes), { maxFileBytes: 1000 });
      expect([Object.keys(seen.files), seen.refused]).toEqual([
        ["good.json"],
        { "large.json": "is larger than 1000 bytes" },
      ]);
    }
    const lines = await readFeed(await fileForTest("a.jsonl", `{}\n${large.content}\n[]\n`), { maxFileBytes: 1000 });
    expect([Object.keys(lines.files), lines.refused]).toEqual([
      ["a.jsonl:1", "a.jsonl:3"],
      { "a.jsonl:2": "is larger than 1000 bytes" },
    ]);
  });

  test("a record of 100 MB is refused without being buffered", async () => {
    const path = await fileForTest(
      "a.jsonl.gz",
      gzipSync(Buffer.concat([Buffer.alloc(100_000_000, 0x61), Buffer.from("\n{}")])),
    );
    const before = process.memoryUsage().arrayBuffers;
    const seen = await readFeed(path, {}, { maxRatio: 5000 });
    expect(Object.keys(seen.files)).toEqual(["a.jsonl:2"]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50_000_000);
  });

  test.each<[string, () => Promise<Uint8Array>]>([
    ["zip", async () => zipOf(...[1, 2, 3].map((n) => ({ name: `${n}.json`, content: " ".repeat(1_000_000) })))],
    ["gzip", async () => gzipSync(" ".repeat(3_000_000))],
    [
      "tar",
      async () =>
        gzipSync(await tarOf(...[1, 2, 3].map((n) => ({ name: `${n}.json`, content: " ".repeat(1_000_000) })))),
    ],
  ])("a bomb in %s ends the feed", async (_, make) => {
    const path = await fileForTest("feed.json", await make());
    const ratio = await readFeed(path, {}, { ratioFromBytes: 1_500_000 });
    expect(ratio.refused).toEqual({ [path]: "unpacks to more than 250 times its size" });
    const size = await readFeed(path, {}, { maxUnpackedBytes: 1_500_000 });
    expect(size.refused).toEqual({ [path]: "unpacks to more than 1500000 bytes" });
    expect(Object.keys(size.files).length).toBeLessThan(2);
  });

  test("too many files end the feed", async () => {
    const path = await fileForTest("feed", zipOf(...members));
    const seen = await readFeed(path, {}, { maxEntries: 3 });
    expect(seen.refused).toEqual({ [path]: "contains more than 3 files" });
    expect(Object.keys(seen.files)).toEqual(["a/1.json", "a/2.YAML"]);
  });

  test("truncated archives yield their complete files and are refused", async () => {
    const tar = await tarOf(good, { name: "b.json", content: "x".repeat(100_000) });
    for (const bytes of [tar.subarray(0, 60_000), gzipSync(tar, { level: 0 }).subarray(0, 60_000)]) {
      const path = await fileForTest("feed", bytes);
      const seen = await readFeed(path);
      expect(Object.keys(seen.files)).toEqual(["good.json"]);
      expect(Object.keys(seen.refused)).toEqual([path]);
    }
    const zip = await fileForTest("feed", zipOf(good).subarray(0, 40));
    expect((await readFeed(zip)).refused[zip]).toMatch(/^is not a valid zip file/);
    const gzip = await fileForTest("a.json.gz", gzipSync("{}".repeat(99)).subarray(0, 15));
    expect((await readFeed(gzip)).refused[gzip]).toMatch(/^is not valid gzip data/);
  });

  test("a tar archive that claims sizes beyond its end is refused", async () => {
    const tar = await tarOf(good, { name: "b.json", content: "{}" });
    const at = tar.indexOf("b.json");
    tar.write("77777777777\0", at + 124, "latin1");
    const sum = tar.subarray(at, at + 512).reduce((all, byte, i) => all + (i >= 148 && i < 156 ? 32 : byte), 0);
    tar.write(`${sum.toString(8).padStart(6, "0")}\0 `, at + 148, "latin1");
    const path = await fileForTest("feed", tar);
    const seen = await readFeed(path);
    expect(Object.keys(seen.files)).toEqual(["good.json"]);
    expect(seen.refused["b.json"]).toBe("is larger than 16777216 bytes");
    expect(seen.refused[path]).toMatch(/^is not a valid tar archive/);
  });

  const checkout = [
    { name: "x/.git/config.json", content: "{" },
    { name: "x/.github/workflows/test.yaml", content: "on: push" },
    { name: "x/.id-allocator", content: "7" },
    { name: "x/.yamllint.yml", content: "rules: {}" },
    { name: "x/..odd.json", content: "{}" },
    { name: "x/a.json", content: "{}" },
    { name: "./x/b.v1.json", content: "{}" },
  ];

  test.each([
    ["a zip file", async () => zipOf(...checkout)],
    ["a tar archive", () => tarOf(...checkout)],
  ])("hidden entries of %s are skipped", async (_, make) => {
    const seen = await readFeed(await fileForTest("feed", await make()));
    expect([Object.keys(seen.files), seen.refused]).toEqual([["x/a.json", "x/b.v1.json"], {}]);
    expect(seen.skipped).toEqual(checkout.slice(0, 5).map(({ name }) => name));
  });

  test("hidden files and folders of a directory are skipped, but not a hidden directory given as location", async () => {
    const folder = join(await folderForTest(), ".feed");
    for (const { name, content } of checkout) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content);
    }
    const seen = await readFeed(folder);
    expect([Object.keys(seen.files), seen.refused]).toEqual([["x/a.json", "x/b.v1.json"], {}]);
    expect(seen.skipped).toEqual(["x/..odd.json", "x/.git", "x/.github", "x/.id-allocator", "x/.yamllint.yml"]);
    expect((await readFeed(join(folder, "x/.yamllint.yml"))).files).toEqual({ ".yamllint.yml": "rules: {}" });
  });

  test("links in archives are skipped and never followed", async () => {
    const link = { name: "link.json", type: "symlink", linkname: "/etc/passwd" } as const;
    const seen = await readFeed(await fileForTest("feed", await tarOf(link, good)));
    expect([Object.keys(seen.files), seen.skipped]).toEqual([["good.json"], ["link.json"]]);
  });

  test("links to outside of a directory are refused, others are skipped", async () => {
    const folder = await folderForTest();
    await writeFile(join(folder, "good.json"), "{}");
    await symlink("/etc/passwd", join(folder, "out.json"));
    await symlink("/etc", join(folder, "outside"));
    await symlink("nowhere.json", join(folder, "nowhere.json"));
    await symlink("good.json", join(folder, "inside.json"));
    await symlink(".", join(folder, "loop"));
    const seen = await readFeed(folder);
    expect(Object.keys(seen.files)).toEqual(["good.json"]);
    expect(Object.keys(seen.refused)).toEqual(["out.json", "outside"]);
    expect(seen.skipped).toEqual(["inside.json", "loop", "nowhere.json"]);
  });
});
