import { toJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { DocumentSchema } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { AdvisorySchema } from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { violationsOf } from "../../../src/contract/index.ts";
import { readAdvisories } from "../../../src/feeds/formats/advisories.ts";
import { FeedRefusal } from "../../../src/feeds/source/refusal.ts";

const time = "2026-01-02T03:04:05Z";
const vex = <S>(statements: S, more: object = {}) => ({
  "@context": "https://openvex.dev/ns/v0.2.0",
  "@id": "https://example.com/vex/1",
  author: "Security team",
  timestamp: time,
  version: 1,
  statements,
  ...more,
});
const product = (purl: string) => ({ "@id": purl });
const statement = (more: object) => ({
  vulnerability: { name: "CVE-2026-0001" },
  products: [product("pkg:apk/wolves/git@2.39.0-r1?arch=x86_64")],
  ...more,
});
const read = (record: unknown) =>
  readAdvisories(record, () => {}).map((item) => {
    if (item instanceof FeedRefusal) throw item;
    for (const advisory of item.advisories) expect(violationsOf(AdvisorySchema, advisory)).toEqual([]);
    return toJson(DocumentSchema, item.document) as { advisories: { events: unknown[] }[] };
  });

test.each<[string, object, unknown]>([
  ["affected", { action_statement: "Update." }, { truePositiveDetermination: { note: "Update." } }],
  ["fixed", {}, { fixed: { fixedVersion: "2.39.0-r1" } }],
  ["under_investigation", {}, { detection: { manual: {} } }],
  ["not_affected", { impact_statement: "Why." }, { falsePositiveDetermination: { note: "Why." } }],
  ...[
    ["component_not_present", "TYPE_COMPONENT_VULNERABILITY_MISMATCH"],
    ["vulnerable_code_not_present", "TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE"],
    ["vulnerable_code_not_in_execute_path", "TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH"],
    ["vulnerable_code_cannot_be_controlled_by_adversary", "TYPE_VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY"],
    ["inline_mitigations_already_exist", "TYPE_INLINE_MITIGATIONS_EXIST"],
  ].map(([justification, type]): [string, object, unknown] => [
    "not_affected",
    { justification },
    { falsePositiveDetermination: { type } },
  ]),
])("a statement of %s %j is an event", (status, more, event) => {
  const [document] = read(vex([statement({ status, ...more })]));
  expect(document!.advisories[0]!.events).toEqual([{ timestamp: time, ...(event as object) }]);
});

test("statements are grouped by package and vulnerability, with their own times", () => {
  const git = [
    product("pkg:apk/wolves/git@2.39.0-r1?arch=x86_64"),
    { "@id": "urn:git", identifiers: { purl: "pkg:apk/wolves/git@2.39.0-r1?arch=aarch64" } },
  ];
  const record = vex([
    statement({ status: "fixed", products: git, timestamp: "2026-02-01T00:00:00Z" }),
    statement({
      status: "under_investigation",
      products: git,
      timestamp: "2026-01-01T00:00:00Z",
      vulnerability: { name: "CVE-2026-0001", aliases: ["GHSA-aaaa-bbbb-cccc"] },
    }),
    statement({
      status: "affected",
      products: [product("pkg:deb/debian/libssl%2B1@3.1")],
      vulnerability: { name: "CVE-2" },
    }),
    statement({ status: "affected", products: [] }),
  ]);
  expect(read(record)).toEqual([
    {
      id: "git",
      advisories: [
        {
          id: "CVE-2026-0001",
          aliases: ["GHSA-aaaa-bbbb-cccc"],
          packageNamespace: "wolves",
          packageUrl: "pkg:apk/wolves/git",
          events: [
            { timestamp: "2026-02-01T00:00:00Z", fixed: { fixedVersion: "2.39.0-r1" } },
            { timestamp: "2026-01-01T00:00:00Z", detection: { manual: {} } },
          ],
        },
      ],
    },
    {
      id: "libssl+1",
      advisories: [
        {
          id: "CVE-2",
          packageNamespace: "debian",
          packageUrl: "pkg:deb/debian/libssl%2B1",
          events: [{ timestamp: time, truePositiveDetermination: {} }],
        },
      ],
    },
  ]);
  const advisories = readAdvisories(record, () => {}).flatMap((item) =>
    item instanceof FeedRefusal ? [] : item.advisories,
  );
  expect(advisories).toMatchObject([
    { author: "Security team", artifactName: "git", artifactType: "apk", advisoryId: "CVE-2026-0001" },
    { author: "Security team", artifactName: "libssl+1", artifactType: "deb", componentName: "libssl+1" },
  ]);
});

test("packages of one name and several types or distributions have separate advisories", () => {
  const products = [
    "pkg:apk/wolfi/openssl@1-r0?arch=x86_64&distro=wolfi-20230201",
    "pkg:apk/wolfi/openssl@1-r0?arch=aarch64&distro=wolfi-20230201",
    "pkg:apk/openssl@1-r1",
    "pkg:npm/openssl@2",
    "pkg:npm/%40scope/openssl@3",
    "pkg:golang/golang.org/x/openssl@v4",
    "pkg:maven/org.example/openssl@5",
  ].map(product);
  const documents = read(vex([statement({ status: "fixed", products })])) as unknown as {
    id: string;
    advisories: { id: string; packageUrl: string; events: { fixed: { fixedVersion: string } }[] }[];
  }[];
  const fixes = documents.map(({ id, advisories }) => [
    id,
    ...advisories.map(({ packageUrl, events }) => [packageUrl, ...events.map(({ fixed }) => fixed.fixedVersion)]),
  ]);
  expect(fixes).toEqual([
    [
      "openssl",
      ["pkg:apk/wolfi/openssl?distro=wolfi-20230201", "1-r0"],
      ["pkg:apk/openssl", "1-r1"],
      ["pkg:npm/openssl", "2"],
    ],
    ["@scope/openssl", ["pkg:npm/%40scope/openssl", "3"]],
    ["golang.org/x/openssl", ["pkg:golang/golang.org/x/openssl", "v4"]],
    ["org.example:openssl", ["pkg:maven/org.example/openssl", "5"]],
  ]);
  const [first] = readAdvisories(vex([statement({ status: "fixed", products })]), () => {});
  if (first === undefined || first instanceof FeedRefusal) throw first;
  expect(first.advisories).toMatchObject([{ advisoryId: "CVE-2026-0001", artifactName: "openssl" }]);
  expect(first.advisories[0]!.events).toHaveLength(3);
});

test.each<[string, unknown, string]>([
  ["of another context", vex([], { "@context": "https://example.com" }), "@context: is not that of OpenVEX"],
  ["by nobody", vex([], { author: undefined }), "author: is missing"],
])("a document %s is refused", (_, record, reason) => {
  expect(() => readAdvisories(record, () => {})).toThrow(FeedRefusal);
  expect(() => readAdvisories(record, () => {})).toThrow(reason);
});

test.each<[string, Record<string, unknown> & { statements: object[] }, string]>([
  ["at no time", vex([statement({ status: "affected" })], { timestamp: undefined }), "timestamp: is missing"],
  ["in the year 10000", vex([statement({ status: "affected", timestamp: "10000-01-01T00:00:00Z" })]), "].timestamp: "],
  ["with an unknown status", vex([statement({ status: "maybe" })]), 'statements[0].status: "maybe" is not a status'],
  [
    "with an unknown justification",
    vex([statement({ status: "not_affected", justification: "because" })]),
    'statements[0].justification: "because" is not known',
  ],
  [
    "about nothing",
    vex([statement({ status: "affected", vulnerability: {} })]),
    "statements[0].vulnerability.name: is missing",
  ],
  [
    "about a thing that is no package",
    vex([statement({ status: "affected", products: [product("https://example.com/thing")] })]),
    "statements[0].products[0].@id: is not a package URL",
  ],
  [
    "with a package URL that is badly escaped",
    vex([statement({ status: "affected", products: [product("pkg:apk/a%")] })]),
    "products[0].@id: is not a package URL",
  ],
  [
    "that says what is fixed, not where",
    vex([statement({ status: "fixed", products: [product("pkg:apk/git")] })]),
    "products[0].@id: has no version",
  ],
  [
    "that never ends about one thing",
    vex(
      Array.from({ length: 1001 }, (_, i) =>
        statement({ status: "affected", timestamp: new Date(i * 1000).toISOString() }),
      ),
    ),
    "statements[1000].products: make more than 1000 statements about CVE-2026-0001 in git",
  ],
])("a statement %s is refused alone", (_, record, reason) => {
  const good = statement({ status: "fixed", products: [product("pkg:apk/curl@8-r0")], timestamp: time });
  const items = readAdvisories({ ...record, statements: [...record.statements, good] }, () => {});
  const refusals = items.filter((item) => item instanceof FeedRefusal);
  expect(refusals.map(({ message }) => message)).toEqual([expect.stringContaining(reason)]);
  expect(items.map((item) => (item instanceof FeedRefusal ? "" : item.document.id))).toContain("curl");
});

test("unknown members are reported", () => {
  const unread: string[] = [];
  const record = vex(
    [
      statement({
        status: "fixed",
        status_notes: "done",
        confidence: 1,
        products: [{ ...product("pkg:apk/a@1"), size: 1 }],
      }),
    ],
    { role: "vendor", mood: "good" },
  );
  readAdvisories(record, (member) => unread.push(member));
  expect(unread.sort()).toEqual(["mood", "statements[].confidence", "statements[].products[].size"]);
});
