/** `platform import advisories`: what the publishers of packages say of vulnerabilities, as documents and as advisories of a group. */
import { Code, ConnectError } from "@connectrpc/connect";
import { Command } from "commander";
import { FeedRefusal, type PackageAdvisories, type Prune, readAdvisories } from "../feeds/index.ts";
import {
  groupExists,
  prepareAdvisories,
  pruneAdvisories,
  pruneDocuments,
  saveAdvisories,
  saveDocument,
} from "../services/index.ts";
import { requireInstallation, withDatabase } from "./database.ts";
import { CommandFailure } from "./failure.ts";
import { type FeedImport, importFeed, recordReader, withFeed } from "./import-feed.ts";
import { withSettings } from "./settings.ts";

export function importAdvisoriesCommand(): Command {
  const command = withFeed(withSettings(new Command("advisories"), ["database"]))
    .description(
      "import package advisories: advisory documents (schema 2.x), the security.json of a package repository, or OpenVEX, each known by its content. " +
        "A package has one document, and the last import that has the package says all of it; advisories that it does not list any more stay " +
        "in the group until --prune. Documents and advisories count alike",
    )
    .requiredOption("--group <UID>", "the group that holds the advisories");
  return command.action((location: string) =>
    withDatabase(command, async (database) => {
      const { group, prune = false, json = false } = command.opts<{ group: string; prune?: boolean; json?: boolean }>();
      await requireInstallation(database);
      if (!(await groupExists(database.read, group))) throw new CommandFailure(`--group: there is no group ${group}`);
      await importFeed(database, location, importInto(group, prune), json);
    }),
  );
}

function importInto(group: string, prune: boolean): FeedImport<PackageAdvisories> {
  return {
    read: recordReader((value, unread) =>
      readAdvisories(value, unread).map((item) => {
        if (item instanceof FeedRefusal) return item;
        prepare(group, item);
        return { id: item.document.id, value: item };
      }),
    ),

    async save(session, { document, advisories }, nowMs) {
      const artifactName = document.id;
      const saved = await saveAdvisories(session, { group, artifactName, advisories, nowMs, prune });
      const documentSaved = await saveDocument(session, document, nowMs);
      return { ...saved, [documentSaved]: saved[documentSaved] + 1 };
    },

    ...(prune && { prune: prunePackages(group) }),
  };
}

/** Whatever the rules refuse is refused when it is saved, with its place in the feed. */
function prepare(group: string, { document, advisories }: PackageAdvisories): void {
  try {
    prepareAdvisories({ group, artifactName: document.id, advisories });
  } catch (error) {
    if (ConnectError.from(error).code !== Code.InvalidArgument) throw error;
  }
}

/**
 * Removes the group's advisories of packages that the feed does not have, then the documents of these packages. Documents are of no group: those of
 * packages that the group never had are somebody else's.
 */
function prunePackages(group: string): Prune[] {
  const gone = new Set<string>();
  const advisories: Prune = (session, isKept, after) => {
    const isWanted = (artifactName: string) => {
      if (!isKept(artifactName)) gone.add(artifactName);
      return !gone.has(artifactName);
    };
    return pruneAdvisories(session, group, isWanted, after);
  };
  const documents: Prune = (session, _isKept, after) => pruneDocuments(session, (id) => !gone.has(id), after);
  return [advisories, documents];
}
