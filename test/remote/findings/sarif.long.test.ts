/** Findings in SARIF, against the JSON schema of the format. */
import { create } from "@bufbuild/protobuf";
import type { ValidateFunction } from "ajv";
import { beforeAll, expect, test } from "vitest";
import { ComponentSchema, FindingSchema } from "../../../gen/platform/findings/v1/findings_pb.ts";
import { sarif } from "../../../src/remote/findings/sarif.ts";
import { carrier, loadSarifSchema } from "../sarif-schema.ts";

let validate: ValidateFunction | undefined;

beforeAll(() => {
  validate = loadSarifSchema();
}, 60_000);

test("findings of every level, and none", (context) => {
  if (validate === undefined) return context.skip(`npm does not carry ${carrier}`);
  const levels = [0, 1, 2, 3, 4, 5] as const;
  const findings = levels.map((level) =>
    create(FindingSchema, {
      component: create(ComponentSchema, { purl: `pkg:npm/%40a/b@${level}` }),
      vulnerabilityId: `CVE-2026-${level}`,
      level,
    }),
  );
  for (const [some, file] of [
    [findings, "a b/sbom.json"],
    [findings, "/tmp/sbom.json"],
    [findings, undefined],
    [[], "sbom.json"],
  ] as const)
    expect(validate(JSON.parse(sarif(some, file))), JSON.stringify(validate.errors)).toBe(true);
});
