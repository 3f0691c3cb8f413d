import { expect, test } from "vitest";
import { readAffected } from "../../../../src/feeds/formats/osv/affected.ts";
import { Fields } from "../../../../src/feeds/records/fields.ts";
import { FeedRefusal } from "../../../../src/feeds/source/refusal.ts";

const read = (...affected: unknown[]) => readAffected(new Fields({ affected }), "ghsa", () => {});
const npm = { ecosystem: "npm", name: "@scope/name" };
const range = (...events: object[]) => ({ type: "SEMVER", events });

test("a package has its key, its ranges and its versions", () => {
  const affected = {
    package: npm,
    ranges: [range({ introduced: "0" }, { fixed: "1.2.3" })],
    versions: ["1.0.0", "1.0.0"],
  };
  const key = "pkg:npm/%40scope/name";
  expect(read(affected)).toEqual([
    {
      kind: "ecosystem",
      key,
      facts: [
        {
          key,
          distro: "",
          ranges: [{ kind: "SEMVER", events: [{ introduced: "0" }, { fixed: "1.2.3" }] }],
          versions: ["1.0.0"],
        },
      ],
    },
  ]);
});

test("several items of one package are one fact for each release", () => {
  const debian = (release: string, fixed: string) => ({
    package: { ecosystem: `Debian:${release}`, name: "openssl" },
    ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }, { fixed }] }],
  });
  const [fact, ...others] = read(debian("12", "1"), debian("11", "2"), debian("12", "3"));
  expect(others).toEqual([]);
  expect(fact).toMatchObject({ kind: "advisory", key: "pkg:deb/debian/openssl" });
  expect(fact!.facts.map(({ distro, isSource, ranges }) => [distro, isSource, ranges.length])).toEqual([
    ["debian-12", true, 2],
    ["debian-11", true, 1],
  ]);
});

test("events of an early version of the schema are one each", () => {
  const [fact] = read({ package: npm, ranges: [range({ introduced: "1.0.0", fixed: "2.0.0" }, { limit: "*" })] });
  expect(fact!.facts[0]!.ranges[0]!.events).toEqual([{ introduced: "1.0.0" }, { fixed: "2.0.0" }, { limit: "*" }]);
});

test.each<[string, unknown, string, string | undefined]>([
  [
    "of Linux",
    { package: { ecosystem: "Linux", name: "Kernel" }, versions: ["1"] },
    "is of an ecosystem without package URLs",
    "Linux Kernel",
  ],
  [
    "of an unknown ecosystem",
    { package: { ecosystem: "Else", name: "a" }, versions: ["1"] },
    "is of an unknown ecosystem",
    "Else a",
  ],
  [
    "without a name",
    { ranges: [{ type: "GIT", repo: "x", events: [{ introduced: "0" }] }] },
    "names commits, and no versions",
    "",
  ],
  [
    "with commits only",
    { package: npm, ranges: [{ type: "GIT", events: [{ introduced: "0" }] }] },
    "names commits, and no versions",
    undefined,
  ],
  ["without versions", { package: npm }, "names no versions", undefined],
])("a package %s is kept with the reason", (_, affected, unmatched, name) => {
  const [fact] = read(affected);
  expect([fact!.unmatched, fact!.name]).toEqual([unmatched, name]);
});

test("ranges of commits beside others are left out", () => {
  const [fact] = read({ package: npm, ranges: [{ type: "GIT", events: [{ introduced: "0" }] }], versions: ["1.0.0"] });
  expect(fact).not.toHaveProperty("unmatched");
  expect(fact!.facts[0]).toMatchObject({ ranges: [], versions: ["1.0.0"] });
});

test("ratings of a package are its own", () => {
  const vector = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
  const severity = [{ type: "CVSS_V3", score: vector }];
  expect(read({ package: npm, versions: ["1.0.0"], severity })[0]!.ratings).toEqual([{ source: "ghsa", vector }]);
});

test.each<[string, object, string]>([
  [
    "a range of an unknown type",
    { ranges: [{ type: "DATE", events: [] }] },
    'affected[0].ranges[0].type: "DATE" is none of',
  ],
  ["a version that is no text", { versions: [1] }, "affected[0].versions[0]: is not text"],
  ["an event that is no text", { ranges: [range({ fixed: 1 })] }, "affected[0].ranges[0].events[0].fixed: is not text"],
])("%s is refused", (_, affected, reason) => {
  expect(() => read({ package: npm, ...affected })).toThrow(FeedRefusal);
  expect(() => read({ package: npm, ...affected })).toThrow(reason);
});
