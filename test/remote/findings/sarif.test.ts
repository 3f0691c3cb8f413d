/** Findings in SARIF. Their schema is checked by a long test. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ComponentSchema, Finding_Level, FindingSchema } from "../../../gen/platform/findings/v1/findings_pb.ts";
import { sarif } from "../../../src/remote/findings/sarif.ts";

/** The fingerprints of results. */
function printsOf({ results }: { readonly results: readonly { readonly partialFingerprints: object }[] }): unknown[] {
  return results.map(({ partialFingerprints }) => Object.values(partialFingerprints)[0]);
}

function finding(purl: string, vulnerabilityId: string, more: MessageInitShape<typeof FindingSchema> = {}) {
  return create(FindingSchema, { component: create(ComponentSchema, { purl }), vulnerabilityId, ...more });
}

const findings = [
  finding("pkg:npm/lodash@4.17.20", "CVE-2026-0001", {
    level: Finding_Level.CRITICAL,
    score: 10,
    fixedVersion: "4.17.21",
    aliases: ["GHSA-aaaa-bbbb-cccc"],
  }),
  finding("pkg:npm/%40scope/pkg@1.0.0", "GHSA-dddd-eeee-ffff", { level: Finding_Level.MEDIUM }),
  finding("pkg:npm/other@1.0.0", "CVE-2026-0001", { level: Finding_Level.CRITICAL, score: 10 }),
  finding("pkg:golang/example.com/x@v1.0.0", "GO-2026-1"),
];

test("has a rule for each vulnerability, with what code scanning derives a level from", () => {
  const [run] = JSON.parse(sarif(findings, "sbom.cdx.json")).runs;
  expect(run.tool.driver.rules).toMatchObject([
    {
      id: "CVE-2026-0001",
      shortDescription: { text: "CVE-2026-0001 (GHSA-aaaa-bbbb-cccc), level critical" },
      helpUri: "https://www.cve.org/CVERecord?id=CVE-2026-0001",
      defaultConfiguration: { level: "error" },
      properties: { "security-severity": "10.0", tags: ["security", "vulnerability"] },
    },
    {
      id: "GHSA-dddd-eeee-ffff",
      helpUri: "https://github.com/advisories/GHSA-dddd-eeee-ffff",
      defaultConfiguration: { level: "warning" },
      properties: { "security-severity": "5.5" },
    },
    { id: "GO-2026-1", helpUri: "https://osv.dev/vulnerability/GO-2026-1", defaultConfiguration: { level: "note" } },
  ]);
  expect(run.tool.driver.rules[2].properties).toEqual({ tags: ["security", "vulnerability"] });
});

test("has a result for each finding, at the package in the file", () => {
  const [run] = JSON.parse(sarif(findings, "build out/sbom.cdx.json")).runs;
  expect(run.results).toHaveLength(4);
  expect(run.results[0]).toMatchObject({
    ruleId: "CVE-2026-0001",
    ruleIndex: 0,
    level: "error",
    message: { text: "npm/lodash@4.17.20: CVE-2026-0001 (critical); fixed in 4.17.21" },
    locations: [
      {
        physicalLocation: { artifactLocation: { uri: "build%20out/sbom.cdx.json" }, region: { startLine: 1 } },
        logicalLocations: [{ fullyQualifiedName: "pkg:npm/lodash@4.17.20" }],
      },
    ],
  });
  expect(new Set(printsOf(run)).size).toBe(4);
  const [again] = JSON.parse(sarif(findings.toReversed(), "elsewhere.json")).runs;
  expect(printsOf(again)).toEqual(printsOf(run).toReversed());
});

test("names places of packages that are of no file, and absolute paths as URLs", () => {
  const uriOf = (file: string | undefined) =>
    JSON.parse(sarif(findings.slice(1, 2), file)).runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri;
  expect(uriOf(undefined)).toBe("npm/%40scope/pkg%401.0.0");
  expect(uriOf("/tmp/a b.json")).toBe("file:///tmp/a%20b.json");
});
