import { expect, test } from "vitest";
import { type DebianRecord, readDebianTracker } from "../../../src/feeds/formats/debian-tracker.ts";
import { ForeignRecord } from "../../../src/feeds/source/refusal.ts";

const key = "pkg:deb/debian/openssl";
const below = (fixed?: string) => [
  { kind: "ECOSYSTEM", events: [{ introduced: "0" }, ...(fixed === undefined ? [] : [{ fixed }])] },
];
const fact = (distro: string, ranges: unknown[] = []) => ({ key, distro, isSource: true, ranges, versions: [] });
const release = (status: string, more: object = {}) => ({
  status,
  repositories: { bookworm: "3.0.11-1~deb12u2", "bookworm-security": "3.0.14-1~deb12u1" },
  urgency: "not yet assigned",
  ...more,
});
const read = (value: unknown, unread = (_member: string) => {}) =>
  readDebianTracker({ openssl: { "CVE-2026-0001": value } }, unread)[0] as DebianRecord;

test("releases with a fix, and without one", () => {
  const unread: string[] = [];
  const value = {
    description: "A  description\nin lines",
    scope: "remote",
    debianbug: 1_000_000,
    releases: {
      bookworm: release("resolved", { fixed_version: "3.0.14-1~deb12u1", urgency: "low**" }),
      sid: release("resolved", { fixed_version: "0" }),
      trixie: release("open", { nodsa: "Minor issue", nodsa_reason: "postponed", mood: 1 }),
    },
  };
  expect(read(value, (member) => unread.push(member))).toEqual({
    name: "openssl CVE-2026-0001",
    facts: {
      id: "CVE-2026-0001",
      aliases: [],
      upstream: [],
      related: [],
      summary: "A description in lines",
      weaknesses: [],
      ratings: [],
      packages: [
        {
          kind: "advisory",
          key,
          facts: [fact("debian-12", below("3.0.14-1~deb12u1")), fact("debian-13", below())],
          ratings: [{ source: "debian", vector: "", word: "low**" }],
        },
      ],
    },
  });
  expect(unread).toEqual(["releases.*.mood"]);
});

test("releases that Debian ignores, and those that nobody has looked into", () => {
  const releases = {
    bullseye: release("open", { urgency: "end-of-life" }),
    bookworm: release("open", { nodsa: "Minor issue", nodsa_reason: "ignored" }),
    sid: release("undetermined"),
  };
  expect(read({ releases }).facts.packages).toEqual([
    {
      kind: "advisory",
      key,
      name: "no fix planned",
      facts: [fact("debian-11"), fact("debian-12")],
      events: [{ kind: "FIX_NOT_PLANNED" }],
    },
    {
      kind: "advisory",
      key,
      name: "undetermined",
      facts: [fact("debian-sid")],
      events: [{ kind: "DETECTION" }],
    },
  ]);
});

test("what never affected a release says nothing about it", () => {
  const releases = { bookworm: release("resolved", { fixed_version: "0" }) };
  expect(read({ releases }).facts.packages).toEqual([]);
});

test.each<[string, unknown, string]>([
  ["an unknown status", { releases: { sid: release("fixed") } }, 'releases.sid.status: "fixed" is none of'],
  ["a fix without a version", { releases: { sid: release("resolved") } }, "releases.sid.fixed_version: is missing"],
  ["no status", { releases: { sid: {} } }, "releases.sid.status: is missing"],
])("a vulnerability with %s is refused alone", (_, value, reason) => {
  const good = { releases: { sid: release("open") } };
  const [refused, other] = readDebianTracker({ openssl: { "CVE-2026-0001": value, "CVE-2026-0002": good } }, () => {});
  expect(refused).toMatchObject({ name: "openssl CVE-2026-0001", refusal: { ids: ["openssl CVE-2026-0001"] } });
  expect((refused as { refusal: Error }).refusal.message).toContain(`openssl CVE-2026-0001: ${reason}`);
  expect(other).toMatchObject({ name: "openssl CVE-2026-0002" });
});

test.each([[[]], [{ openssl: {} }], [{ openssl: { a: 1 } }], ["text"]])("what is not of the tracker: %j", (record) => {
  expect(() => readDebianTracker(record, () => {})).toThrow(ForeignRecord);
});
