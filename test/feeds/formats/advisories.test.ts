import { toJson } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { DocumentSchema } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { AdvisorySchema } from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { violationsOf } from "../../../src/contract/index.ts";
import { type PackageAdvisories, readAdvisories } from "../../../src/feeds/formats/advisories.ts";
import { FeedRefusal } from "../../../src/feeds/source/refusal.ts";

const timestamp = "2026-01-02T03:04:05Z";

function read(record: unknown): PackageAdvisories {
  const [first, ...others] = readAdvisories(record, () => {});
  if (first === undefined || first instanceof FeedRefusal || others.length > 0) throw first ?? new Error("not one");
  for (const advisory of first.advisories) expect(violationsOf(AdvisorySchema, advisory)).toEqual([]);
  return first;
}

const document = (advisories: unknown, more: object = {}) => ({
  "schema-version": "2.0.2",
  package: { name: "openssl" },
  advisories,
  ...more,
});
const withEvents = (...events: unknown[]) => document([{ id: "ADV-1", events }]);
const eventsOf = (...events: unknown[]) =>
  toJson(DocumentSchema, read(withEvents(...events)).document, { alwaysEmitImplicit: false }) as {
    advisories: { events: unknown[] }[];
  };

const scan = {
  type: "scan/v1",
  subpackageName: "libssl3",
  componentID: "2f3d",
  componentName: "libcrypto",
  componentVersion: "3.1.0",
  componentType: "binary",
  componentLocation: "/usr/lib/libcrypto.so.3",
  scanner: "grype",
};

test.each<[string, unknown, unknown]>([
  ["detection by a person", { type: "detection", data: { type: "manual" } }, { detection: { manual: {} } }],
  [
    "detection in a database",
    { type: "detection", data: { type: "nvdapi", cpeSearched: "cpe:2.3:a:*", cpeFound: "cpe:2.3:a:b" } },
    { detection: { nvdapi: { cpeSearched: "cpe:2.3:a:*", cpeFound: "cpe:2.3:a:b" } } },
  ],
  [
    "detection by a scanner",
    { type: "detection", data: scan },
    {
      detection: {
        scanv1: {
          scanner: "grype",
          subpackageName: "libssl3",
          componentId: "2f3d",
          componentName: "libcrypto",
          componentVersion: "3.1.0",
          componentType: "binary",
          componentLocation: "/usr/lib/libcrypto.so.3",
        },
      },
    },
  ],
  ["fix", { type: "fixed", data: { "fixed-version": "3.1.10-r0" } }, { fixed: { fixedVersion: "3.1.10-r0" } }],
  [
    "true positive",
    { type: "true-positive-determination", data: { note: "It is so.\nReally." } },
    { truePositiveDetermination: { note: "It is so.\nReally." } },
  ],
  ["true positive without a note", { type: "true-positive-determination" }, { truePositiveDetermination: {} }],
  ["no analysis", { type: "analysis-not-planned", data: { note: "EOL" } }, { analysisNotPlanned: { note: "EOL" } }],
  ["no fix", { type: "fix-not-planned", data: { note: "EOL" } }, { fixNotPlanned: { note: "EOL" } }],
  ["pending fix", { type: "pending-upstream-fix", data: { note: "soon" } }, { pendingUpstreamFix: { note: "soon" } }],
])("an event that is a %s", (_, event, expected) => {
  const { advisories } = eventsOf({ timestamp, ...(event as object) });
  expect(advisories[0]!.events).toEqual([{ timestamp, ...(expected as object) }]);
});

test.each([
  ["vulnerability-record-analysis-contested", "TYPE_VULNERABILITY_RECORD_ANALYSIS_CONTESTED"],
  ["component-vulnerability-mismatch", "TYPE_COMPONENT_VULNERABILITY_MISMATCH"],
  ["vulnerable-code-version-not-used", "TYPE_VULNERABLE_CODE_VERSION_NOT_USED"],
  ["vulnerable-code-not-included-in-package", "TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE"],
  ["vulnerable-code-not-in-execution-path", "TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH"],
  ["vulnerable-code-cannot-be-controlled-by-adversary", "TYPE_VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY"],
  ["inline-mitigations-exist", "TYPE_INLINE_MITIGATIONS_EXIST"],
])("a false positive because of %s", (type, expected) => {
  const data = { type, note: "why" };
  const { advisories } = eventsOf({ timestamp, type: "false-positive-determination", data });
  expect(advisories[0]!.events).toEqual([{ timestamp, falsePositiveDetermination: { type: expected, note: "why" } }]);
  const { advisories: published } = read(withEvents({ timestamp, type: "false-positive-determination", data }));
  expect(toJson(AdvisorySchema, published[0]!)).toMatchObject({
    events: [{ falsePositiveDetermination: { type: expected, note: "why" } }],
  });
});

test("an advisory of a group has the content of its document", () => {
  const { document: read1, advisories } = read(
    document([
      {
        id: "ADV-2345-6789-cfgh",
        aliases: ["CVE-2026-0001", "GHSA-aaaa-bbbb-cccc", "CVE-2026-0001"],
        events: [
          { timestamp: "2026-01-03T00:00:00Z", type: "fixed", data: { "fixed-version": "3.1.1-r0" } },
          { timestamp: "2026-01-01T00:00:00.5Z", type: "detection", data: { ...scan, componentName: "old" } },
          { timestamp: "2026-01-02T00:00:00Z", type: "detection", data: scan },
        ],
      },
    ]),
  );
  expect(read1.advisories[0]!.aliases).toEqual(["CVE-2026-0001", "GHSA-aaaa-bbbb-cccc"]);
  const common = { author: "advisories", reviewState: "REVIEW_STATE_APPROVED" };
  expect(advisories.map((advisory) => toJson(AdvisorySchema, advisory))).toEqual([
    {
      advisoryId: "ADV-2345-6789-cfgh",
      author: "advisories",
      artifactName: "openssl",
      artifactType: "apk",
      artifactArchitecture: "all",
      componentName: "libcrypto",
      componentLocation: "/usr/lib/libcrypto.so.3",
      componentType: "binary",
      aliases: ["CVE-2026-0001", "GHSA-aaaa-bbbb-cccc"],
      events: [
        { ...common, createTime: "2026-01-03T00:00:00Z", fixed: { fixedVersion: "3.1.1-r0" } },
        {
          ...common,
          createTime: "2026-01-02T00:00:00Z",
          detection: {
            scanv1: {
              scanner: "grype",
              subpackage: "libssl3",
              componentId: "2f3d",
              component: "libcrypto",
              componentVersion: "3.1.0",
              componentType: "binary",
              componentLocation: "/usr/lib/libcrypto.so.3",
            },
          },
        },
        { ...common, createTime: "2026-01-01T00:00:00.500Z", detection: expect.anything() },
      ],
    },
  ]);
});

test("without a scan, the component is the package itself", () => {
  const [advisory] = read(document([{ id: "ADV-1" }])).advisories;
  expect(advisory).toMatchObject({
    componentName: "openssl",
    componentLocation: "/",
    componentType: "apk",
    events: [],
  });
});

test("a document may be empty", () => {
  expect(read(document(null))).toMatchObject({ document: { id: "openssl", advisories: [] }, advisories: [] });
});

const fixedEvent = { timestamp, type: "fixed", data: { "fixed-version": "1" } };

test.each<[string, unknown, string]>([
  ["of no format", { hello: "world" }, "is not an advisory document"],
  ["that is a list", [], "is not an advisory document"],
  ["of another version", document([], { "schema-version": "1" }), 'schema-version: "1" is not 2.x'],
  ["with a number for a version", document([], { "schema-version": 2 }), "schema-version: is not text"],
  ["of no package", document([], { package: undefined }), "package: is missing"],
  ["of a package without a name", document([], { package: {} }), "package.name: is missing"],
  ["of a package on two lines", document([], { package: { name: "a\nb" } }), 'package.name: "a\\nb" is not an id'],
  ["with advisories by name", document({ a: {} }), "advisories: is not a list"],
  ["with an advisory that is none", document(["ADV-1"]), "advisories[0]: is not an object"],
  ["with an advisory without an id", document([{}]), "advisories[0].id: is missing"],
  ["with an id twice", document([{ id: "A" }, { id: "B" }, { id: "A" }]), 'advisories[2].id: "A" occurs twice'],
  ["with NUL in an alias", document([{ id: "A", aliases: ["C", "D\0"] }]), "advisories[0].aliases[1]: contains NUL"],
  ["with 2,000 events", withEvents(...Array(2000).fill(fixedEvent)), "advisories[0].events: has 2000 items"],
])("a record %s is refused completely", (_, record, reason) => {
  expect(() => readAdvisories(record, () => {})).toThrow(FeedRefusal);
  expect(() => readAdvisories(record, () => {})).toThrow(reason);
});

test.each<[string, unknown, string]>([
  ["of an unknown type", { timestamp, type: "patched", data: {} }, 'type: "patched" is none of'],
  ["out of Object", { timestamp, type: "constructor" }, 'type: "constructor"'],
  ["at no time", { ...fixedEvent, timestamp: undefined }, "timestamp: is missing"],
  [
    "in the year 0",
    { ...fixedEvent, timestamp: "0000-01-01T00:00:00Z" },
    'timestamp: "0000-01-01T00:00:00Z" is not an RFC 3339 time',
  ],
  ["in the year 10000", { ...fixedEvent, timestamp: "10000-01-01T00:00:00Z" }, "timestamp: "],
  ["at a time that is none", { ...fixedEvent, timestamp: new Date("never") }, 'timestamp: "Invalid Date" is not'],
  ["that fixes in no version", { timestamp, type: "fixed", data: {} }, "data.fixed-version: is missing"],
  ["that fixes nothing", { timestamp, type: "fixed" }, "data: is missing"],
  ["with data of another type", { timestamp, type: "fixed", data: "1" }, "data: is not an object"],
  ["that detects by nothing", { timestamp, type: "detection", data: {} }, "data.type: is missing"],
  [
    "that detects in an unknown way",
    { timestamp, type: "detection", data: { type: "scan/v2" } },
    'data.type: "scan/v2" is none of',
  ],
  [
    "with detection data of another type",
    { timestamp, type: "detection", data: { type: "manual", data: "?" } },
    "data.data: is not an object",
  ],
  [
    "that is a false positive for an unknown reason",
    { timestamp, type: "false-positive-determination", data: { type: "because" } },
    'data.type: "because" is not known',
  ],
  [
    "with a note without end",
    { timestamp, type: "fix-not-planned", data: { note: "x".repeat(20_000) } },
    "data.note: has 20000 characters",
  ],
  [
    "with a location without end",
    { timestamp, type: "detection", data: { type: "scan/v1", data: { componentLocation: "x".repeat(65_537) } } },
    "data.data.componentLocation: has 65537 characters, more than 65536",
  ],
])("an event %s is refused alone", (_, event, reason) => {
  const [first, refusal, ...others] = readAdvisories(withEvents(fixedEvent, event), () => {});
  expect(first).toMatchObject({ document: { advisories: [{ events: [{ data: { case: "fixed" } }] }] } });
  expect(refusal).toBeInstanceOf(FeedRefusal);
  expect((refusal as FeedRefusal).message).toContain(`advisories[0].events[1].${reason}`);
  expect(others).toEqual([]);
});

test("an event that is none is refused alone", () => {
  const [first, refusal] = readAdvisories(document([{ id: "ADV-1", events: [null, fixedEvent] }]), () => {});
  expect(first).toMatchObject({ document: { advisories: [{ events: [{ data: { case: "fixed" } }] }] } });
  expect((refusal as FeedRefusal).message).toBe("advisories[0].events[0]: is not an object");
});

describe("the data of a detection", () => {
  const detection = (data: unknown) => eventsOf({ timestamp, type: "detection", data }).advisories[0]!.events[0];
  const { type, ...members } = scan;

  test("is read beside the type and in nested data", () => {
    expect(detection({ type, data: members })).toEqual(detection(scan));
    expect(detection({ type, scanner: "grype", data: { componentName: "a" } })).toMatchObject({
      detection: { scanv1: { scanner: "grype", componentName: "a" } },
    });
    const cpes = { cpeSearched: "cpe:2.3:a:*", cpeFound: "cpe:2.3:a:b" };
    expect(detection({ type: "nvdapi", data: cpes })).toMatchObject({ detection: { nvdapi: cpes } });
    expect(detection({ type: "manual", data: {} })).toEqual(detection({ type: "manual" }));
  });

  test("may name hundreds of files", () => {
    const componentLocation = "/usr/lib/a.jar, ".repeat(4096).slice(0, 65_536);
    const { advisories } = read(
      withEvents({ timestamp, type: "detection", data: { type, data: { componentLocation } } }),
    );
    expect(advisories[0]!.componentLocation).toBe(componentLocation);
  });
});

test("a time may be a Date of the parser", () => {
  expect(eventsOf({ ...fixedEvent, timestamp: new Date(timestamp) })).toEqual(eventsOf(fixedEvent));
});

test("unknown members are reported each time", () => {
  const unread: string[] = [];
  const data = { type: "scan/v1", scanner: "flat", data: { scanner: "grype", severity: "high", empty: null } };
  const record = document(
    [
      {
        id: "A",
        withdrawn: true,
        events: [
          { timestamp, type: "detection", data, author: "ann" },
          { timestamp, type: "detection", data: { type: "manual", data: { why: "because" } } },
          { timestamp, type: "fixed", data: { "fixed-version": "1", note: "backported" } },
          { timestamp, type: "true-positive-determination", data: { note: "", type: "confirmed" } },
        ],
      },
    ],
    { package: { name: "openssl", arch: "x86_64" }, extra: { deep: { er: 1 } } },
  );
  readAdvisories(record, (member) => unread.push(member));
  expect(unread.sort()).toEqual([
    "advisories[].events[].author",
    "advisories[].events[].data.data.severity",
    "advisories[].events[].data.data.why",
    "advisories[].events[].data.note",
    "advisories[].events[].data.scanner",
    "advisories[].events[].data.type",
    "advisories[].withdrawn",
    "extra",
    "package.arch",
  ]);
});
