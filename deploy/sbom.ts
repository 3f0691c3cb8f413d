/**
 * Writes a software bill of materials, CycloneDX 1.6 in JSON, of what is installed with the package, by its lock file.
 * Usage: npm run sbom [-- [--image] [FILE]]; FILE is sbom.cdx.json unless it is given, - is standard output.
 * With --image it is of what the container image has: Node, and no optional dependencies.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Contrib, Enums, Models, Serialize, SPDX, Spec } from "@cyclonedx/cyclonedx-library";

/** A package of package-lock.json, version 3. */
interface LockedPackage {
  readonly name?: string;
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  /** Whether only development needs it, only an optional dependency, or only these two. */
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const { values, positionals } = parseArgs({ options: { image: { type: "boolean" } }, allowPositionals: true });
const root = join(import.meta.dirname, "..");
const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
const packages: Readonly<Record<string, LockedPackage>> = lock.packages;

/** Development dependencies that are shipped, as a part of dist/pages and dist/console. */
const bundled = [
  "@mantine/core",
  "@mantine/hooks",
  "@mantine/notifications",
  "@scalar/fastify-api-reference",
  "@tanstack/react-query",
  "@tanstack/react-router",
  "qrcode.react",
  "react",
  "react-dom",
  "react-markdown",
  "recharts",
  "remark-gfm",
].map((name) => `node_modules/${name}`);

const isOptional = ({ optional, devOptional }: LockedPackage) => Boolean(optional || devOptional);
const components = new Map(
  Object.entries(packages)
    .filter(([path, { dev }]) => path !== "" && (!dev || bundled.includes(path)))
    .filter(([, locked]) => !(values.image && isOptional(locked)))
    .map(([path, locked]) => [path, componentOf(path, locked)]),
);
for (const [path, component] of components) addDependencies(component, path);

const application = new Models.Component(Enums.ComponentType.Application, lock.name, {
  version: lock.version,
  bomRef: `${lock.name}@${lock.version}`,
  purl: `pkg:npm/${lock.name}@${lock.version}`,
});
addLicense(application, packages[""]!.license);
addDependencies(application, "");
for (const path of bundled) application.dependencies.add(components.get(path)!.bomRef);

const bom = new Models.Bom({
  serialNumber: Contrib.Bom.Utils.randomSerialNumber(),
  metadata: new Models.Metadata({ component: application, timestamp: new Date() }),
  components: new Models.ComponentRepository(components.values()),
});
if (values.image) {
  const version = process.versions.node;
  const node = new Models.Component(Enums.ComponentType.Platform, "node", {
    version,
    bomRef: `node@${version}`,
    purl: `pkg:generic/node@${version}`,
  });
  addLicense(node, "MIT");
  bom.components.add(node);
  application.dependencies.add(node.bomRef);
}

const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
const json = serializer.serialize(bom, { sortLists: true, space: 2 });
const [file = "sbom.cdx.json"] = positionals;
writeFileSync(file === "-" ? process.stdout.fd : file, `${json}\n`);

/** The component of a package; its hash is that of the archive in the registry. */
function componentOf(path: string, locked: LockedPackage): Models.Component {
  const fullName = locked.name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  const [, group, name = fullName] = /^(@[^/]+)\/(.+)$/.exec(fullName) ?? [];
  const component = new Models.Component(Enums.ComponentType.Library, name, {
    ...(group !== undefined && { group }),
    version: locked.version,
    bomRef: path,
    purl: `pkg:npm/${fullName.replace("@", "%40")}@${locked.version}`,
    scope: isOptional(locked) ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required,
  });
  addLicense(component, locked.license);
  const [, sha512] = /^sha512-(\S+)/.exec(locked.integrity ?? "") ?? [];
  if (sha512 !== undefined)
    component.hashes.set(Enums.HashAlgorithm["SHA-512"], Buffer.from(sha512, "base64").toString("hex"));
  return component;
}

/** Adds a license: an identifier or an expression of SPDX, or else a name. */
function addLicense(component: Models.Component, license: string | undefined): void {
  if (license === undefined) return;
  const id = SPDX.fixupSpdxId(license);
  if (id !== undefined) component.licenses.add(new Models.SpdxLicense(id));
  else if (/\s(OR|AND|WITH)\s/.test(license)) component.licenses.add(new Models.LicenseExpression(license));
  else component.licenses.add(new Models.NamedLicense(license));
}

/** Adds what a package depends on, as Node finds it: in the nearest node_modules. */
function addDependencies(component: Models.Component, path: string): void {
  const { dependencies, optionalDependencies, peerDependencies } = packages[path]!;
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
    for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
      const found = components.get(`${folder}${folder === "" ? "" : "/"}node_modules/${name}`);
      if (found !== undefined) component.dependencies.add(found.bomRef);
      if (found !== undefined || folder === "") break;
    }
  }
}
