import { expect, test } from "vitest";
import { FeedRefusal, readProduct } from "../../../src/feeds/index.ts";

function read(document: unknown) {
  const refused: string[] = [];
  const product = readProduct(Buffer.from(JSON.stringify(document)), {
    refuse: (name, reason) => void refused.push(`${name}: ${reason}`),
    unread: () => {},
  });
  return { product, refused };
}

test("a list of cycles", () => {
  const { product, refused } = read([
    {
      cycle: "3.14",
      releaseDate: "2025-10-07",
      eol: "2030-10-31",
      latest: "3.14.1",
      latestReleaseDate: "2025-12-02",
      lts: false,
      support: "2027-10-01",
    },
    { cycle: "2.7", releaseDate: "2010-07-03", eol: true, latest: "2.7.18", lts: "2014-01-01" },
    { cycle: 1.6, releaseDate: "2000-09-05", eol: false },
    { cycle: "1.5", eol: "soon" },
  ]);
  expect(product).toEqual({
    name: "",
    cycles: [
      {
        version: "3.14",
        releaseDate: "2025-10-07",
        eolDate: "2030-10-31",
        isEol: false,
        isLts: false,
        ltsDate: "",
        latest: "3.14.1",
      },
      {
        version: "2.7",
        releaseDate: "2010-07-03",
        eolDate: "",
        isEol: true,
        isLts: true,
        ltsDate: "2014-01-01",
        latest: "2.7.18",
      },
      { version: "1.6", releaseDate: "2000-09-05", eolDate: "", isEol: false, isLts: false, ltsDate: "", latest: "" },
    ],
  });
  expect(refused).toEqual(["cycles[3]: cycles[3].eol: is not a date YYYY-MM-DD"]);
});

test("a cycle or release that is none is refused alone", () => {
  const cycles = read([null, { cycle: "1.5", eol: true }]);
  const releases = read({ result: { name: "nodejs", releases: ["24", { name: "22" }] } });
  for (const { product } of [cycles, releases]) expect(product.cycles).toHaveLength(1);
  expect([cycles.refused, releases.refused]).toEqual([
    ["cycles[0]: is not an object"],
    ["result.releases[0]: is not an object"],
  ]);
});

test("a product with a result", () => {
  const { product } = read({
    schema_version: "1.2.0",
    result: {
      name: "nodejs",
      aliases: ["node"],
      releases: [
        {
          name: "24",
          codename: "Krypton",
          releaseDate: "2025-05-06",
          isLts: true,
          ltsFrom: "2025-10-28",
          isEol: false,
          eolFrom: "2028-04-30",
          latest: { name: "24.11.0", date: "2025-10-28", link: "https://nodejs.org" },
        },
        { name: "0.1", isEol: true, eolFrom: null, latest: null },
      ],
    },
  });
  expect(product).toMatchObject({
    name: "nodejs",
    cycles: [
      { version: "24", eolDate: "2028-04-30", isLts: true, ltsDate: "2025-10-28", latest: "24.11.0" },
      { version: "0.1", eolDate: "", isEol: true, latest: "" },
    ],
  });
});

test.each([[{}], [{ result: {} }], [7]])("%j is refused", (document) => {
  expect(() => read(document)).toThrow(FeedRefusal);
});
