/** The licences of the packages that a bundle contains parts of, in a file beside it: their notices must go with it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { OutputBundle, Plugin } from "rolldown";

/** The folder of the package that a module belongs to. */
const packageFolder = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//;
/** The comment that a file begins with. */
const header = /^(?:(?:\/\/.*\n)+|\/\*[\s\S]*?\*\/)/;

const introduction = `The files in this folder contain parts of the packages below. The text of the Apache License,
Version 2.0, is in the file LICENSE of this package.`;

/**
 * A plugin that writes `THIRD-PARTY-LICENSES.txt`: each licence file and each comment about copyright that a source
 * file begins with, with the packages it is of. Errors: a package has neither.
 * @param withoutText packages that have neither, of which the file names the license that they declare.
 * @param others modules of bundles that go with this one, as {@link collectModules} adds them before this one is
 * written.
 */
export function thirdPartyLicenses(
  withoutText: readonly string[] = [],
  others: ReadonlySet<string> = new Set(),
): Plugin {
  return {
    name: "third-party-licenses",
    generateBundle(_options, bundle) {
      const modules = [...new Set([...others, ...modulesOf(bundle)])].filter((id) => packageFolder.test(id));
      const source = licensesOf(
        Map.groupBy(modules, (id) => packageFolder.exec(id)![1]!),
        withoutText,
      );
      this.emitFile({ type: "asset", fileName: "THIRD-PARTY-LICENSES.txt", source });
    },
  };
}

/** The package of a file in a source map. */
const packageInMap = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/**
 * The licenses of a file that somebody else has bundled, with a source map beside it: those of its package, of all that
 * the package depends on, since some of it is bundled twice over, and of what else is in the map. Errors and
 * `withoutText`: as {@link thirdPartyLicenses}; a package is not installed.
 */
export function licensesOfBundled(file: string, withoutText: readonly string[]): string {
  const folders = new Map<string, readonly string[]>();
  const visit = (folder: string | undefined) => {
    if (folder === undefined || folders.has(folder)) return;
    folders.set(folder, []);
    const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    for (const name of Object.keys(dependencies)) visit(installedFolder(folder, name));
  };
  const own = packageFolder.exec(file)![1]!;
  visit(own);
  const { sources } = JSON.parse(readFileSync(`${file}.map`, "utf8")) as { readonly sources: readonly string[] };
  for (const name of new Set(sources.flatMap((source) => packageInMap.exec(source)?.[1] ?? []))) {
    if ([...folders.keys()].some((folder) => folder.endsWith(`/node_modules/${name}`))) continue;
    const folder = installedFolder(own, name);
    if (folder === undefined) throw new Error(`${name} is bundled, and not installed: add it for its licence`);
    visit(folder);
  }
  return licensesOf(folders, withoutText);
}

/** Where Node finds a package from a folder. */
function installedFolder(from: string, name: string): string | undefined {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(join(found, "package.json"))) return found;
  }
  return undefined;
}

/** The text of licenses. @param folders of packages, with those of their files that are bundled. */
function licensesOf(folders: ReadonlyMap<string, readonly string[]>, withoutText: readonly string[]): string {
  const owners = new Map<string, Set<string>>();
  for (const [folder, files] of folders) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const texts = [...licenceFiles(folder), ...files.flatMap(copyrightComments)];
    if (texts.length === 0 && withoutText.includes(name)) texts.push("The package contains no text of its license.");
    if (texts.length === 0) throw new Error(`${name} is bundled, and tells no licence`);
    for (const text of texts) {
      const packages = owners.get(text) ?? new Set();
      owners.set(text, packages.add(`${name} ${version}, ${license}`));
    }
  }
  const sections = [...owners].map(([text, packages]) => `${[...packages].sort().join("\n")}\n\n${text}\n`).sort();
  return `${introduction}\n\n${sections.join(`\n${"-".repeat(80)}\n\n`)}`;
}

/** A plugin that adds the modules of a bundle to a set. */
export function collectModules(modules: Set<string>): Plugin {
  return {
    name: "collect-modules",
    generateBundle(_options, bundle) {
      for (const id of modulesOf(bundle)) modules.add(id);
    },
  };
}

function modulesOf(bundle: OutputBundle): string[] {
  return Object.values(bundle).flatMap((output) => (output.type === "chunk" ? output.moduleIds : []));
}

function licenceFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^(licen[cs]e|notice|copying)/i.test(name))
    .map((name) => readFileSync(join(folder, name), "utf8").trim());
}

function copyrightComments(file: string): string[] {
  const comment = existsSync(file) ? (header.exec(readFileSync(file, "utf8"))?.[0] ?? "") : "";
  return /copyright/i.test(comment) ? [comment.replace(/^ ?(?:\/\/|\/?\*+\/?) ?/gm, "").trim()] : [];
}
