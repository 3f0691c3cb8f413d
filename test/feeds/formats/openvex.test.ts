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
  const ofGit = (architecture: string) => ({
    id: "CVE-2026-0001",
    aliases: ["GHSA-aaaa-bbbb-cccc"],
    packageNamespace: "wolves",
    packageUrl: `pkg:apk/wolves/git@2.39.0-r1?arch=${architecture}`,
    events: [
      { timestamp: "2026-02-01T00:00:00Z", fixed: { fixedVersion: "2.39.0-r1" } },
      { timestamp: "2026-01-01T00:00:00Z", detection: { manual: {} } },
    ],
  });
  expect(read(record)).toEqual([
    { id: "git", advisories: [ofGit("x86_64"), ofGit("aarch64")] },
    {
      id: "libssl+1",
      advisories: [
        {
          id: "CVE-2",
          packageNamespace: "debian",
          packageUrl: "pkg:deb/debian/libssl%2B1@3.1",
          events: [{ timestamp: time, truePositiveDetermination: {} }],
        },
      ],
    },
  ]);
  const advisories = readAdvisories(record, () => {}).flatMap((item) =>
    item instanceof FeedRefusal ? [] : item.advisories,
  );
  const both = { author: "Security team", artifactName: "git", artifactType: "apk", advisoryId: "CVE-2026-0001" };
  expect(advisories).toMatchObject([
    { ...both, artifactArchitecture: "x86_64", artifactVersion: "2.39.0-r1" },
    { ...both, artifactArchitecture: "aarch64", packageUrl: "pkg:apk/wolves/git@2.39.0-r1?arch=aarch64" },
    { author: "Security team", artifactName: "libssl+1", artifactType: "deb", componentName: "libssl+1" },
  ]);
});

test("packages of one name and several types, versions or distributions have separate advisories", () => {
  const products = [
    "pkg:apk/wolfi/openssl@1-r0?distro=wolfi-20230201&arch=x86_64",
    "pkg:apk/wolfi/openssl@1-r0?arch=x86_64&distro=wolfi-20230201",
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
      ["pkg:apk/wolfi/openssl@1-r0?arch=x86_64&distro=wolfi-20230201", "1-r0"],
      ["pkg:apk/openssl@1-r1", "1-r1"],
      ["pkg:npm/openssl@2", "2"],
    ],
    ["@scope/openssl", ["pkg:npm/%40scope/openssl@3", "3"]],
    ["golang.org/x/openssl", ["pkg:golang/golang.org/x/openssl@v4", "v4"]],
    ["org.example:openssl", ["pkg:maven/org.example/openssl@5", "5"]],
  ]);
  const [first] = readAdvisories(vex([statement({ status: "fixed", products })]), () => {});
  if (first === undefined || first instanceof FeedRefusal) throw first;
  expect(first.advisories).toMatchObject([
    { artifactName: "openssl", artifactType: "apk", artifactVersion: "1-r0", artifactArchitecture: "x86_64" },
    { artifactName: "openssl", artifactType: "apk", artifactVersion: "1-r1", artifactArchitecture: "all" },
    { artifactName: "openssl", artifactType: "npm", artifactVersion: "2", componentName: "openssl" },
  ]);
});

test("a statement is about each subcomponent that it names, and the last one at a time is kept", () => {
  const app = (...subcomponents: (string | object)[]) => ({
    "@id": "pkg:golang/example.com/app@v1.0.0?repository_url=ghcr.io/app#cmd/app",
    subcomponents: subcomponents.map((each) => (typeof each === "string" ? { "@id": each } : each)),
  });
  const stdlib = { "@id": "urn:x", identifiers: { purl: "pkg:golang/stdlib@v1.22.7" } };
  const record = vex([
    statement({ status: "affected", products: [app("pkg:golang/stdlib@v1.22.7", "[ERROR] not mapped")] }),
    statement({ status: "not_affected", products: [app(stdlib)] }),
    statement({ status: "fixed", products: [app()], timestamp: "2026-02-01T00:00:00Z" }),
  ]);
  const url = "pkg:golang/example.com/app@v1.0.0?repository_url=ghcr.io%2Fapp#cmd/app";
  const advisories = (read(record)[0]!.advisories as { packageUrl?: string; subcomponent?: string }[]).map(
    ({ packageUrl, subcomponent, events }: { packageUrl?: string; subcomponent?: string; events?: unknown[] }) => [
      packageUrl,
      subcomponent,
      events,
    ],
  );
  expect(advisories).toEqual([
    [url, "pkg:golang/stdlib@v1.22.7", [{ timestamp: time, falsePositiveDetermination: {} }]],
    [url, "[ERROR] not mapped", [{ timestamp: time, truePositiveDetermination: {} }]],
    [url, undefined, [{ timestamp: "2026-02-01T00:00:00Z", fixed: { fixedVersion: "v1.0.0" } }]],
  ]);
  const [item] = readAdvisories(record, () => {});
  if (item === undefined || item instanceof FeedRefusal) throw item;
  expect(item.advisories).toMatchObject([
    { artifactVersion: "v1.0.0", componentName: "stdlib", componentType: "golang" },
    { artifactVersion: "v1.0.0", componentName: "[ERROR] not mapped", componentType: "generic" },
    { artifactVersion: "v1.0.0", componentName: "example.com/app", componentType: "golang" },
  ]);
});

test.each<[string, unknown, string]>([
  ["of another context", vex([], { "@context": "https://example.com" }), "is not an advisory document"],
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
    "about a thing that is not a package",
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
  ["that is none", { ...vex([]), statements: [null as never] }, "statements[0]: is not an object"],
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

test("a refusal names the packages that it is about, as far as they can be read", () => {
  const products = [product("pkg:apk/git@1"), product("no package"), product("pkg:npm/%40scope/a@1")];
  const [refusal] = readAdvisories(vex([statement({ status: "maybe", products })]), () => {});
  expect((refusal as FeedRefusal).ids).toEqual(["git", "@scope/a"]);
  const all = vex([statement({ status: "fixed", products })], { author: undefined });
  expect(refusalOf(() => readAdvisories(all, () => {})).ids).toEqual(["git", "@scope/a"]);
  expect(refusalOf(() => readAdvisories(vex("none"), () => {})).ids).toBeUndefined();
});

function refusalOf(read: () => unknown): FeedRefusal {
  try {
    read();
  } catch (error) {
    if (error instanceof FeedRefusal) return error;
  }
  throw new Error("it is not refused");
}

test.each([
  [
    "vex-repository.json",
    { name: "Hub", versions: [{ spec_version: "0.1", locations: [{ url: "https://x.example" }] }] },
  ],
  ["index.json", { updated_at: time, packages: [{ id: "pkg:golang/a", location: "pkg/golang/a/vex.json" }] }],
  ["manifest.json", { ID: "pkg:golang/a", Sources: [{ Path: "vex.json", URL: "https://x.example" }] }],
])("%s of a VEX repository is known", (_, record) => {
  expect(refusalOf(() => readAdvisories(record, () => {}))).toMatchObject({ name: "ForeignRecord", isIndex: true });
});

test.each([
  ["a lock file", { packages: { "": {} } }],
  ["other packages", { packages: [{ name: "a" }] }],
  ["another schema", { "schema-version": "2", title: "x" }],
  ["a list", [1]],
  ["a text", "text"],
])("%s is not a record", (_, record) => {
  expect(refusalOf(() => readAdvisories(record, () => {}))).toMatchObject({ name: "ForeignRecord", isIndex: false });
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
