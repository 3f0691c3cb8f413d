/** Tables of findings and images, by the widths of terminals. */
import { stripVTControlCharacters } from "node:util";
import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import {
  AssertionSchema,
  Finding_FixState,
  Finding_Level,
  FindingSchema,
} from "../../../gen/platform/findings/v1/findings_pb.ts";
import { ImageSchema, ListedComponentSchema } from "../../../gen/platform/findings/v1/images_pb.ts";
import { VulnerabilitySchema } from "../../../gen/platform/findings/v1/vulnerabilities_pb.ts";
import { fieldLines, Table, type TableStyle } from "../../../src/remote/print/table.ts";
import { widthOf } from "../../../src/remote/print/text.ts";

const repo = `${"0a".repeat(20)}/${"1b".repeat(8)}`;
const digest = `sha256:${"0a1b2c3d".repeat(8)}`;
const names = new Map([[repo, "library/payments/api"]]);
const plain = { width: undefined, colours: false, wide: false };

const findings = [
  create(FindingSchema, {
    ...{ repo, digest, tags: ["1.4", "latest"], vulnerabilityId: "CVE-2021-44228", level: Finding_Level.CRITICAL },
    component: { purl: "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1" },
    ...{ fixState: Finding_FixState.FIXED, fixedVersion: "2.15.0", score: 10, epss: 0.975, knownExploited: true },
    firstSeen: timestampFromMs(0),
  }),
  create(FindingSchema, {
    ...{ repo, digest, vulnerabilityId: "GHSA-67hx-6x53-jw92", fixState: Finding_FixState.NOT_FIXED },
    component: { purl: "pkg:npm/%40babel/traverse@7.22.5?distro=x" },
  }),
];
const image = create(ImageSchema, {
  ...{ repo, repoName: "library/payments/api", digest, tags: ["1.4"], componentCount: 512, hasSbom: true },
  levelCounts: [
    { level: Finding_Level.CRITICAL, count: 2 },
    { level: Finding_Level.HIGH, count: 13 },
    { level: Finding_Level.UNSPECIFIED, count: 7 },
  ],
});

function lines(schema: DescMessage, messages: readonly Message[], style: Partial<TableStyle>): string[] {
  const table = new Table(schema, { ...plain, ...style }, names);
  return [table.begin(messages), ...messages.map((message) => table.line(message))];
}

test("at 80 columns a finding keeps its level, its id, the end of the package, the fix and the image", () => {
  expect(lines(FindingSchema, findings, { width: 80 })).toEqual([
    "LEVEL     VULNERABILITY        PACKAGE                 FIXED-IN  IMAGE",
    "critical  CVE-2021-44228       …g4j/log4j-core@2.14.1  2.15.0    …nts/api:1.4 +1",
    "-         GHSA-67hx-6x53-jw92  …babel/traverse@7.22.5  none yet  …6:0a1b2c3d0a1b",
  ]);
});

test("at 160 columns it has all that is told of it", () => {
  const [heading, first, second] = lines(FindingSchema, findings, { width: 160 });
  expect(heading).toMatch(/^LEVEL .* IMAGE +EXPLOITED +SCORE +EPSS +FIRST-SEEN$/);
  expect(first).toMatch(/ {2}library\/payments\/api:1\.4 \+1 +yes +10 +97\.5% +\d+y ago$/);
  expect(second).toContain("npm/@babel/traverse@7.22.5");
});

test("with all fields messages have columns for their fields, and lists of messages none", () => {
  const assertions = ["a", "b"].map((source) => create(AssertionSchema, { source }));
  const finding = create(FindingSchema, { ...findings[0]!, assertions });
  const [heading, line] = lines(FindingSchema, [finding], { width: 80, wide: true });
  expect(heading).toMatch(/ COMPONENT\.PURL .* VULNERABILITY-ID .* FIRST-SEEN$/);
  expect(heading).not.toContain("ASSERTIONS");
  expect(line).toContain(" pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1 ");
});

test("in a file nothing is shortened", () => {
  const [, first, second] = lines(FindingSchema, findings, {});
  expect(first).toContain("  pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1  ");
  expect(first).toContain(`  library/payments/api:1.4@${digest}  `);
  expect(first).toContain("  0.975  1970-01-01T00:00:00.000Z");
  expect(second).toContain(`  library/payments/api@${digest}`);
});

test.each([80, 160])("no line of an image or a component is longer than %i columns", (width) => {
  const component = create(ListedComponentSchema, {
    component: { purl: `pkg:golang/${"a/".repeat(60)}b@v1`, licenses: ["MIT", "Apache-2.0"] },
    ...{ unmatchedReason: "has no order of versions", levelCounts: image.levelCounts },
    occurrences: [{ locations: Array.from({ length: 50 }, (_, i) => `/app/${i}`), owner: "pkg:apk/wolfi/x@1" }],
  });
  for (const line of lines(ImageSchema, [image], { width })) expect(widthOf(line)).toBeLessThanOrEqual(width);
  for (const line of lines(ListedComponentSchema, [component], { width }))
    expect(widthOf(line)).toBeLessThanOrEqual(width);
});

test("an image has its counts by level, and its digest by the beginning", () => {
  const [heading, line] = lines(ImageSchema, [image], { width: 160 });
  expect(heading).toMatch(/^REPO +TAGS +FINDINGS +DIGEST +COMPONENTS +SBOM$/);
  expect(line).toContain("  2 critical, 13 high, 7 unrated  sha256:0a1b2c3d0a1b  512");
});

test("levels are in colour where that is wanted, each by itself", () => {
  const [, first] = lines(FindingSchema, findings, { width: 80, colours: true });
  expect(first?.startsWith("\u001b[1;31mcritical\u001b[22;39m  CVE-2021-44228 ")).toBe(true);
  const [, counts] = lines(ImageSchema, [image], { width: 160, colours: true });
  expect(counts).toContain("\u001b[1;31m2 critical\u001b[22;39m, \u001b[31m13 high\u001b[39m, 7 unrated");
  const plainTexts = lines(ImageSchema, [image], { width: 160 });
  expect(stripVTControlCharacters(counts!)).toBe(plainTexts[1]);
});

test("words that are no levels are not in colour", () => {
  const low = create(FindingSchema, { vulnerabilityId: "CVE-1", component: { purl: "pkg:npm/high@1" } });
  expect(lines(FindingSchema, [low], { width: 80, colours: true })[1]).not.toContain("\u001b");
});

test("of one vulnerability, lists of messages are tables below its fields", () => {
  const vulnerability = create(VulnerabilitySchema, {
    ...{ id: "CVE-2026-0001", level: Finding_Level.HIGH, knownExploited: { requiredAction: "Update." } },
    ratings: [
      { source: "nvd", vector: "CVSS:3.1/AV:N", score: 7.5, level: Finding_Level.HIGH },
      { source: "debian", level: Finding_Level.LOW },
    ],
  });
  expect(fieldLines(VulnerabilitySchema, vulnerability, { ...plain, width: 80 })).toEqual([
    "id                               CVE-2026-0001",
    "level                            high",
    "known-exploited.required-action  Update.",
    "",
    "ratings:",
    "  SOURCE  SCORE  LEVEL  VECTOR",
    "  nvd     7.5    high   CVSS:3.1/AV:N",
    "  debian  -      low    -",
  ]);
});

test("control characters are printed as escapes", () => {
  const evil = "\u001b[2J\u0007";
  const finding = create(FindingSchema, {
    ...{ repo, digest: `x:${evil}`, tags: [evil], vulnerabilityId: evil, fixedVersion: evil },
    component: { purl: `pkg:npm/%1b[2J@${evil}` },
  });
  for (const style of [{ width: 200 }, {}, { wide: true }])
    expect(lines(FindingSchema, [finding], style).join("")).not.toMatch(/\p{Cc}/u);
});
