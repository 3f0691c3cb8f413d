/** `platform import debian-tracker`: imports the data of Debian's security tracker. */
import { Command } from "commander";
import { type DebianRecord, readDebianTracker, SeenIds } from "../../feeds/index.ts";
import { FactWriters, pruneRecords, sourceUid } from "../../services/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { type ClaimFlags, claimsOf, recordFeed, withClaims } from "./claims.ts";
import { type FeedFlags, type FeedImport, importFeed, recordReader, withFeed } from "./feed.ts";

/** A source package; that of Linux has about 15 MB. */
const maxFileBytes = 256 * 1024 * 1024;
const feed = "debian-tracker";
/** Debian's tracker knows all that is known of its packages. */
const defaults = [{ pattern: "pkg:deb/debian/*", coverage: "COMPLETE" as const }];

export function importDebianTrackerCommand(): Command {
  const command = withClaims(
    withFeed(withSettings(new Command(feed), ["database"])).description(
      "import the vulnerabilities of Debian's source packages, as https://security-tracker.debian.org/tracker/data/json has them. " +
        "The feed is complete for pkg:deb/debian/*. --prune removes what the tracker no longer has. The summary counts vulnerabilities of packages",
    ),
  );
  return command.action((location: string) =>
    withAuditedDatabase(command, async (database) => {
      const { prune = false, ...flags } = command.opts<FeedFlags & ClaimFlags>();
      const claims = claimsOf(flags);
      await requireInstallation(database);
      const onRead = () => recordFeed(database, { feed, command: feed, importMs: Date.now(), claims, defaults });
      await importFeed(database, location, { ...importOf(prune), onRead }, flags);
    }),
  );
}

function importOf(prune: boolean): FeedImport<DebianRecord> {
  const writers = new FactWriters();
  const sources = new SeenIds();
  return {
    isOfMembers: true,
    maxFileBytes,
    read: recordReader<DebianRecord>((value, unread) =>
      readDebianTracker(value, unread).map((item) => {
        sources.add(sourceUid(feed, item.name));
        if ("refusal" in item) return item.refusal;
        return { id: item.name, content: Buffer.from(JSON.stringify(item.facts)), value: item };
      }),
    ),
    save: async (session, { name, facts }, nowMs) => ({
      [await writers.of(session, nowMs).saveAlone(feed, facts, name)]: 1,
    }),
    finish: (session) => writers.settle(session),
    ...(prune && {
      prune: [
        (session, _ids, after) =>
          pruneRecords(session, { feed, nowMs: Date.now(), after }, ({ source }) => sources.has(source)),
      ],
    }),
  };
}
