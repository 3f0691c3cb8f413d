/**
 * `platform import artifacts`: imports libraries and their versions from documents of package registries, or from a
 * registry.
 */
import { Command } from "commander";
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { CommandFailure } from "../../command/index.ts";
import {
  type ArtifactRecord,
  type FeedOptions,
  isArtifactDocument,
  maxDocumentBytes,
  openPackages,
  readArtifactDocument,
} from "../../feeds/index.ts";
import { artifactUid, saveArtifact } from "../../services/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { ArtifactsOfFeed } from "./artifacts-of-feed.ts";
import { readLimited } from "./document.ts";
import { type FeedFlags, type FeedImport, importFeed, withFeed } from "./feed.ts";

interface Options extends FeedFlags {
  readonly ecosystem?: string;
  readonly package: readonly string[];
  readonly packagesFile?: string;
}

/** Ecosystems by the names of their registries. */
const ecosystems: ReadonlyMap<string, Ecosystem> = new Map([
  ["maven", Ecosystem.JAVA],
  ["pypi", Ecosystem.PYTHON],
  ["npm", Ecosystem.JAVASCRIPT],
]);

const maxPackagesFileBytes = 16 * 1024 * 1024;

export function importArtifactsCommand(): Command {
  const command = withFeed(withSettings(new Command("artifacts"), ["database"]))
    .description(
      "import artifacts and their versions from maven-metadata.xml, POMs, documents of PyPI's JSON API, wheels, core metadata and packuments. The " +
        "format is detected by name and content. With --package or --packages-file, the URL is the base URL of a registry: the part before NAME in npm, " +
        "before NAME/json in PyPI, before the path of the group in Maven. --prune removes artifacts and versions that the feed does not have, within " +
        "the ecosystems of the feed or the packages given. Removed versions are counted",
    )
    .option(
      "--ecosystem <NAME>",
      `only documents of ${[...ecosystems.keys()].join(", ")}; required with --package and --packages-file`,
    )
    .option("--package <NAME...>", "request these packages from the registry: NAME, @SCOPE/NAME, GROUP:ARTIFACT", [])
    .option("--packages-file <FILE>", "request the packages listed in a file, one per line; # begins a comment");
  return command.action((location: string) =>
    withAuditedDatabase(command, async (database) => {
      const { prune = false, json = false, strict = false, ...options } = command.opts<Options>();
      const ecosystem = ecosystemOf(options.ecosystem);
      const packages = await packagesOf(options, ecosystem);
      const importer = createImporter({ prune, ecosystem, packages });
      await requireInstallation(database);
      await importFeed(database, location, importer, { json, strict });
    }),
  );
}

/** Packages to request from a registry. */
interface Packages {
  readonly ecosystem: Ecosystem;
  readonly names: readonly string[];
}

interface Scope {
  readonly prune: boolean;
  /** The ecosystem to import; undefined imports all. */
  readonly ecosystem: Ecosystem | undefined;
  /** undefined reads a feed of documents. */
  readonly packages: Packages | undefined;
}

/** A package that the registry does not have is refused, or removed with `--prune`. */
function createImporter({ prune, ecosystem, packages }: Scope): FeedImport<ArtifactRecord> {
  const artifacts = new ArtifactsOfFeed(prune);
  let isAnswered = false;
  const missing = (name: string, { report }: FeedOptions) => {
    if (prune) isAnswered = true;
    else report.refuse(name, "the registry does not have it");
  };
  const requested = packages && new Set(packages.names.map((name) => artifactUid(packages.ecosystem, name)));
  return {
    also: isArtifactDocument,
    maxFileBytes: maxDocumentBytes,
    ...(packages !== undefined && { open: opener(packages, missing) }),
    isAnswered: () => isAnswered,

    async read(file, unread) {
      const record = await readArtifactDocument(file, unread);
      const isWanted = record !== undefined && (ecosystem === undefined || record.ecosystem === ecosystem);
      return isWanted ? artifacts.add(record) : [];
    },

    async save(session, record, nowMs) {
      const { saved, removedVersions } = await saveArtifact(session, record, { nowMs, prune });
      return { [saved]: 1, removed: removedVersions };
    },

    ...(prune && { prune: artifacts.prunes(requested) }),
  };
}

/** Opens a registry. `missing` is called for every package that it does not have. */
function opener(
  { ecosystem, names }: Packages,
  missing: (name: string, options: FeedOptions) => void,
): NonNullable<FeedImport<ArtifactRecord>["open"]> {
  return (address, options) => {
    const { report, signal } = options;
    return openPackages(address, names, { ecosystem, report, signal, missing: (name) => missing(name, options) });
  };
}

function ecosystemOf(name: string | undefined): Ecosystem | undefined {
  const ecosystem = name === undefined ? undefined : ecosystems.get(name);
  if (name !== undefined && ecosystem === undefined)
    throw new CommandFailure(`--ecosystem must be ${[...ecosystems.keys()].join(", ")}, not ${JSON.stringify(name)}`);
  return ecosystem;
}

/** The packages to request, without duplicates. */
async function packagesOf({ package: named, packagesFile }: Options, ecosystem: Ecosystem | undefined) {
  if (named.length === 0 && packagesFile === undefined) return undefined;
  if (ecosystem === undefined) throw new CommandFailure("--package and --packages-file need --ecosystem");
  const listed = packagesFile === undefined ? [] : await readNames(packagesFile);
  return { ecosystem, names: [...new Set([...named, ...listed])] };
}

async function readNames(file: string): Promise<string[]> {
  const text = (await readLimited(file, maxPackagesFileBytes)).toString();
  const lines = text.split("\n").map((line) => line.replace(/#.*/, "").trim());
  return lines.filter((line) => line !== "");
}
