/** The tables of `platform compare`. */
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  ComponentSchema,
  Finding_FixState,
  Finding_Level,
  Finding_State,
  FindingSchema,
} from "../../../gen/platform/findings/v1/findings_pb.ts";
import { CompareImagesResponseSchema } from "../../../gen/platform/findings/v1/images_pb.ts";
import { linesOf } from "../../../src/remote/findings/compare.ts";
import { widthOf } from "../../../src/remote/print/text.ts";

const component = (name: string, version: string, namespace = "") =>
  create(ComponentSchema, { purl: `pkg:npm/${name}@${version}`, type: "npm", namespace, name, version });
const finding = (id: string, level: Finding_Level, state: Finding_State = Finding_State.AFFECTED, fixedVersion = "") =>
  create(FindingSchema, {
    ...{ vulnerabilityId: id, level, state, fixedVersion, component: component("a", "1.0.0") },
    fixState: fixedVersion === "" ? Finding_FixState.NOT_FIXED : Finding_FixState.FIXED,
  });
const digest = `sha256:${"0a".repeat(32)}`;
const { CRITICAL, HIGH, LOW } = Finding_Level;

const response = create(CompareImagesResponseSchema, {
  base: { repoName: "library/api", digest, tags: ["1.3"], levelCounts: [{ level: CRITICAL, count: 1 }] },
  target: { repoName: "library/api", digest, tags: ["1.4"] },
  components: {
    added: [component("b", "2.0.0", "@scope")],
    removed: [component("c", "3.0.0")],
    changed: [{ before: component("a", "1.0.0"), after: component("a", "1.1.0") }],
  },
  findings: {
    opened: [finding("CVE-2026-0001", HIGH)],
    resolved: [finding("CVE-2026-0002", CRITICAL, Finding_State.AFFECTED, "1.1.0")],
    changed: [
      {
        before: finding("CVE-2026-0003", LOW, Finding_State.UNDER_INVESTIGATION),
        after: finding("CVE-2026-0003", LOW, Finding_State.AFFECTED, "2.0.0"),
      },
    ],
  },
});

const plain = { width: undefined, colours: false, wide: false };
const lines = (style: object = {}) => linesOf(CompareImagesResponseSchema, response, { ...plain, ...style });

test("has the images, what came, changed and is gone, and what a change was before", () => {
  expect(lines({ width: 160 })).toEqual([
    "IMAGE   REPO         TAGS  FINDINGS    DIGEST               COMPONENTS",
    "base    library/api  1.3   1 critical  sha256:0a0a0a0a0a0a  0",
    "target  library/api  1.4   -           sha256:0a0a0a0a0a0a  0",
    "",
    "findings: 1 new, 1 changed, 1 gone",
    "CHANGE   LEVEL     VULNERABILITY  PACKAGE      FIXED-IN  WAS                                           STATE",
    "new      high      CVE-2026-0001  npm/a@1.0.0  none yet  -                                             affected",
    "changed  low       CVE-2026-0003  npm/a@1.0.0  2.0.0     fixed-in none yet, state under-investigation  affected",
    "gone     critical  CVE-2026-0002  npm/a@1.0.0  1.1.0     -                                             affected",
    "",
    "packages: 1 added, 1 changed, 1 removed",
    "CHANGE   PACKAGE       BASE   TARGET",
    "added    npm/@scope/b  -      2.0.0",
    "changed  npm/a         1.0.0  1.1.0",
    "removed  npm/c         3.0.0  -",
  ]);
});

test.each([40, 80, 160])("no line is longer than %i columns", (width) => {
  for (const line of lines({ width })) expect(widthOf(line)).toBeLessThanOrEqual(width);
});

test("of equal images there are no tables", () => {
  const same = create(CompareImagesResponseSchema, { base: response.base!, target: response.target! });
  expect(linesOf(CompareImagesResponseSchema, same, plain).slice(3)).toEqual([
    "",
    "findings: no difference",
    "",
    "packages: no difference",
  ]);
});
