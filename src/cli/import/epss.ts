/** `platform import epss`: imports the probabilities that CVEs are exploited, as FIRST publishes them. */
import { Command } from "commander";
import { type FeedFile, type FeedRefusal, type ImportItem, readEpss } from "../../feeds/index.ts";
import { blockOf, pruneExploitScores, type ScoreBlock, saveExploitScores } from "../../services/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { recordFeed } from "./claims.ts";
import { type FeedFlags, type FeedImport, importFeed, withFeed } from "./feed.ts";

/** 300,000 lines have 10 MB. */
const maxFileBytes = 256 * 1024 * 1024;

export function importEpssCommand(): Command {
  const command = withFeed(withSettings(new Command("epss"), ["database"])).description(
    "import the probabilities of EPSS that CVEs are exploited: epss_scores-DATE.csv or .csv.gz of FIRST. Only what has changed is written. " +
      "--prune removes the scores of CVEs that the file does not have. The summary counts CVEs",
  );
  return command.action((location: string) =>
    withAuditedDatabase(command, async (database) => {
      const { prune = false, ...flags } = command.opts<FeedFlags>();
      await requireInstallation(database);
      const onRead = () =>
        recordFeed(database, { feed: "epss", command: "epss", importMs: Date.now(), claims: undefined });
      await importFeed(database, location, { ...importOf(prune), onRead }, flags);
    }),
  );
}

function importOf(prune: boolean): FeedImport<ScoreBlock> {
  return {
    also: (name) => !/\.(?:json|xml|ya?ml|md|txt)$/i.test(name),
    maxFileBytes,
    read: (file) => blocksOf(file, prune),
    save: (session, block, nowMs) => saveExploitScores(session, block, nowMs),
    ...(prune && {
      prune: [(session, ids, after) => pruneExploitScores(session, (block) => ids.has(block), Date.now(), after)],
    }),
  };
}

/** The scores of a file by blocks, and its lines that are refused. */
function blocksOf({ bytes }: FeedFile, prune: boolean): (ImportItem<ScoreBlock> | FeedRefusal)[] {
  const { scores, refused } = readEpss(bytes);
  const blocks = Map.groupBy(scores, ({ cve }) => blockOf(cve));
  // What a refused line would say is not known: nothing is removed then.
  const isWhole = prune && refused.length === 0;
  const items = [...blocks].map(([block, some]) => ({
    id: block,
    content: Buffer.from(JSON.stringify(some)),
    value: { block, scores: some, isWhole },
  }));
  return [...items, ...refused];
}
