/** `platform import osv`: imports what OSV records say of vulnerabilities and packages. */
import { toBinary } from "@bufbuild/protobuf";
import { Command } from "commander";
import { VulnerabilityMetadataSchema } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { type OsvRecord, readOsv } from "../../feeds/index.ts";
import {
  FactWriters,
  pruneRecords,
  pruneVulnerabilityMetadata,
  saveVulnerabilityMetadata,
} from "../../services/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { type ClaimFlags, claimsOf, recordFeed, withClaims } from "./claims.ts";
import { type FeedFlags, type FeedImport, importFeed, recordReader, withFeed } from "./feed.ts";
import { feedName } from "./feed-name.ts";

interface Options extends FeedFlags, ClaimFlags {
  readonly feed?: string;
}

export function importOsvCommand(): Command {
  const command = withClaims(
    withFeed(withSettings(new Command("osv"), ["database"]))
      .description(
        "import vulnerability metadata and affected packages from OSV 1.x records in JSON or YAML. Withdrawn records are kept without severities and packages. " +
          "--prune removes records that the feed no longer has, and metadata that it does not have, within its sources. The source is the prefix of an id, such as PYSEC",
      )
      .option("--feed <NAME>", "name of the feed (default: the host and path of the URL, or the absolute path)"),
  );
  return command.action((location: string) =>
    withAuditedDatabase(command, async (database) => {
      const { prune = false, feed, ...flags } = command.opts<Options>();
      const name = feedName(feed, location);
      const claims = claimsOf(flags);
      await requireInstallation(database);
      const onRead = () => recordFeed(database, { feed: name, command: "osv", importMs: Date.now(), claims });
      await importFeed(database, location, { ...importOf(name, prune), onRead }, flags);
    }),
  );
}

function importOf(feed: string, prune: boolean): FeedImport<OsvRecord> {
  /** The sources of the feed. */
  const sources = new Set<string>();
  const writers = new FactWriters();
  return {
    read: recordReader<OsvRecord>((value, unread) => {
      const record = readOsv(value, unread);
      const { id } = record.metadata;
      sources.add(sourceOf(id));
      const content = Buffer.concat([
        toBinary(VulnerabilityMetadataSchema, record.metadata),
        Buffer.from(JSON.stringify(record.facts)),
      ]);
      return [{ id, value: record, content }];
    }),

    unmatched: ({ facts }) => facts.packages.flatMap(({ unmatched }) => unmatched ?? []),

    async save(session, { metadata, facts }, nowMs) {
      const saved = await saveVulnerabilityMetadata(session, metadata, nowMs);
      const said = await writers.of(session, nowMs).saveAlone(feed, facts);
      return { [saved === "unchanged" && said !== "unchanged" ? "changed" : saved]: 1 };
    },

    finish: (session) => writers.settle(session),

    ...(prune && {
      prune: [
        async (session, ids, after) => {
          const pruned = await pruneRecords(session, { feed, nowMs: Date.now(), after }, ({ id }) => ids.has(id));
          // Where its metadata go too, the record is counted with these.
          return { ...pruned, removed: pruned.ids.filter((id) => !sources.has(sourceOf(id))).length };
        },
        (session, ids, after) =>
          pruneVulnerabilityMetadata(session, (id) => ids.has(id) || !sources.has(sourceOf(id)), after),
      ],
    }),
  };
}

/** The source of an id, which the OSV schema defines as `<source>-<entry>`. */
function sourceOf(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf("-")));
}
