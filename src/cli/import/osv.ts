/** `platform import osv`: imports vulnerability metadata from OSV records. */
import { toBinary } from "@bufbuild/protobuf";
import { Command } from "commander";
import {
  type VulnerabilityMetadata,
  VulnerabilityMetadataSchema,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { readOsv } from "../../feeds/index.ts";
import { pruneVulnerabilityMetadata, saveVulnerabilityMetadata } from "../../services/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { type FeedFlags, importFeed, recordReader, withFeed } from "./feed.ts";

export function importOsvCommand(): Command {
  const command = withFeed(withSettings(new Command("osv"), ["database"])).description(
    "import vulnerability metadata from OSV 1.x records in JSON or YAML. Withdrawn records are kept without severities. --prune removes metadata " +
      "that the feed does not have, within the sources of the feed. The source is the prefix of an id, such as PYSEC",
  );
  return command.action((location: string) =>
    withAuditedDatabase(command, async (database) => {
      const { prune = false, ...flags } = command.opts<FeedFlags>();
      await requireInstallation(database);
      const sources = new Set<string>();
      await importFeed(
        database,
        location,
        {
          read: recordReader<VulnerabilityMetadata>((value, unread) => {
            const metadata = readOsv(value, unread);
            sources.add(sourceOf(metadata.id));
            return [{ id: metadata.id, value: metadata, content: toBinary(VulnerabilityMetadataSchema, metadata) }];
          }),
          save: async (session, metadata, nowMs) => ({
            [await saveVulnerabilityMetadata(session, metadata, nowMs)]: 1,
          }),
          ...(prune && {
            prune: [
              (session, ids, after) =>
                pruneVulnerabilityMetadata(session, (id) => ids.has(id) || !sources.has(sourceOf(id)), after),
            ],
          }),
        },
        flags,
      );
    }),
  );
}

/** The source of an id, which the OSV schema defines as `<source>-<entry>`. */
function sourceOf(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf("-")));
}
