/** `platform import kev`: imports CISA's catalog of known exploited vulnerabilities. */
import { Command } from "commander";
import { FeedRefusal, type KevEntry, readKev } from "../../feeds/index.ts";
import { pruneKnown, saveKnown } from "../../services/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { recordFeed } from "./claims.ts";
import { type FeedFlags, type FeedImport, importFeed, recordReader, withFeed } from "./feed.ts";

export function importKevCommand(): Command {
  const command = withFeed(withSettings(new Command("kev"), ["database"])).description(
    "import the catalog of known exploited vulnerabilities: known_exploited_vulnerabilities.json of CISA. " +
      "--prune removes entries that the catalog no longer has",
  );
  return command.action((location: string) =>
    withAuditedDatabase(command, async (database) => {
      const { prune = false, ...flags } = command.opts<FeedFlags>();
      await requireInstallation(database);
      const onRead = () =>
        recordFeed(database, { feed: "kev", command: "kev", importMs: Date.now(), claims: undefined });
      await importFeed(database, location, { ...importOf(prune), onRead }, flags);
    }),
  );
}

function importOf(prune: boolean): FeedImport<KevEntry> {
  return {
    read: recordReader<KevEntry>((value, unread) =>
      readKev(value, unread).map((entry) =>
        entry instanceof FeedRefusal
          ? entry
          : { id: entry.cve, content: Buffer.from(JSON.stringify(entry)), value: entry },
      ),
    ),
    save: async (session, entry, nowMs) => ({ [await saveKnown(session, entry, nowMs)]: 1 }),
    ...(prune && {
      prune: [(session, ids, after) => pruneKnown(session, (cve) => ids.has(cve), Date.now(), after)],
    }),
  };
}
