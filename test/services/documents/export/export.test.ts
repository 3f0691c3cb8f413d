/** Documents that are made of what is known about an image: valid by the schemas, and the same for the same facts. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { describe, expect, test } from "vitest";
import { type ListedPackage, readSbom } from "../../../../src/feeds/index.ts";
import { toCycloneDx } from "../../../../src/services/documents/export/cyclonedx.ts";
import type { ImageFacts } from "../../../../src/services/documents/export/image-facts.ts";
import { toSpdx } from "../../../../src/services/documents/export/spdx.ts";

const digestOf = (digit: string) => `sha256:${digit.repeat(64)}`;

function listed(more: Partial<ListedPackage> & { readonly name: string }): ListedPackage {
  return {
    version: "1.0-r0",
    type: "apk",
    namespace: "wolfi",
    architecture: "",
    origin: "",
    originVersion: "",
    ...more,
  };
}

const packages = [
  listed({
    name: "libssl3",
    architecture: "x86_64",
    origin: "openssl",
    originVersion: "1.0-r1",
    purl: "pkg:apk/wolfi/libssl3@1.0-r0?arch=x86_64",
    licenses: ["Apache-2.0 WITH LLVM-exception"],
    layer: digestOf("a"),
  }),
  listed({
    name: "lodash",
    type: "npm",
    namespace: undefined,
    version: "4.17.20",
    purl: "pkg:npm/lodash@4.17.20",
    licenses: ["MIT", "See the file LICENSE"],
    locations: ["/app/node_modules/lodash/package.json", "/app/package-lock.json"],
    owner: "pkg:apk/wolfi/libssl3@1.0-r0?arch=x86_64",
  }),
  listed({ name: "thing", type: "", namespace: undefined, version: "2" }),
  listed({ name: "@scope/old", type: "npm", namespace: undefined, version: "1.0.0+build" }),
];
const unmatched = [
  { name: "nothing", version: "", reason: "has no version" },
  { name: "thing", version: "2", reason: "has no type" },
];
const dependencies = [
  [1, 0],
  [1, 3],
] as const;
const list = { packages, unmatched, dependencies };
const single: ImageFacts = {
  name: "team/app",
  digest: digestOf("1"),
  parts: [{ digest: digestOf("1"), platform: "", list }],
};
const index: ImageFacts = {
  name: "team/app",
  digest: digestOf("1"),
  parts: [
    { digest: digestOf("2"), platform: "linux/amd64", list },
    { digest: digestOf("3"), platform: "linux/arm64", list: { packages: packages.slice(1) } },
  ],
};
const images: [string, ImageFacts][] = [
  ["an image", single],
  ["an index", index],
  ["an index with a list of its own", { ...index, parts: [single.parts[0]!, ...index.parts] }],
  ["an image without packages", { ...single, parts: [{ ...single.parts[0]!, list: { packages: [] } }] }],
];
const pause = () => undefined;

/** What is kept of a package when the document is read again. */
function again(text: string) {
  const notes: string[] = [];
  const note = (member: string) => void notes.push(member);
  const sbom = readSbom(Buffer.from(text), { refuse: note, unread: note });
  expect(notes).toEqual([]);
  return sbom;
}

describe.each(images)("%s", (_, facts) => {
  test("is valid CycloneDX 1.6", async () => {
    const text = await toCycloneDx(facts, pause);
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull();
  });

  const python = dirname(process.env.TEST_PYTHON ?? "");
  const validator = join(python, "pyspdxtools");
  const isMissing = !existsSync(validator);
  if (isMissing) console.log("skipped: spdx-tools is not installed beside the Python that TEST_PYTHON names");
  test.skipIf(isMissing)("is valid SPDX 2.3", async () => {
    const folder = await mkdtemp(join(tmpdir(), "spdx-"));
    const file = join(folder, "image.spdx.json");
    await writeFile(file, await toSpdx(facts, pause));
    await promisify(execFile)(validator, ["--infile", file]);
    await rm(folder, { recursive: true });
  });

  test.each([toCycloneDx, toSpdx])("is the same for the same facts, and another for others: %s", async (write) => {
    const text = await write(facts, pause);
    expect(await write(structuredClone(facts), pause)).toBe(text);
    const other = await write({ ...facts, name: "team/other" }, pause);
    const idOf = (json: string) => /urn:uuid:[0-9a-f-]{36}/.exec(json)?.[0];
    expect(idOf(text)).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(idOf(other)).not.toBe(idOf(text));
  });
});

test("CycloneDX says all that is known", async () => {
  const sbom = again(await toCycloneDx(single, pause));
  const purl = "pkg:npm/%40scope/old@1.0.0%2Bbuild";
  expect(sbom.packages).toEqual([
    { ...packages[3], purl, namespace: undefined },
    packages[0],
    packages[1],
    packages[2],
  ]);
  expect(sbom.unmatched).toEqual(unmatched);
  expect(sbom.dependencies).toEqual([
    [2, 0],
    [2, 1],
  ]);
});

test("SPDX says all but architectures without package URL", async () => {
  const sbom = again(await toSpdx(single, pause));
  expect(
    sbom.packages.map(({ name, origin, originVersion, layer, owner }) => ({
      name,
      origin,
      originVersion,
      layer,
      owner,
    })),
  ).toEqual([
    { name: "@scope/old", origin: "", originVersion: "", layer: undefined, owner: undefined },
    { name: "libssl3", origin: "openssl", originVersion: "1.0-r1", layer: digestOf("a"), owner: undefined },
    { name: "lodash", origin: "", originVersion: "", layer: undefined, owner: packages[1]!.owner },
    { name: "thing", origin: "", originVersion: "", layer: undefined, owner: undefined },
  ]);
  expect(sbom.packages[1]!.licenses).toEqual(packages[0]!.licenses);
  expect(sbom.unmatched).toEqual(unmatched);
  expect(sbom.dependencies).toEqual([
    [2, 0],
    [2, 1],
  ]);
});
