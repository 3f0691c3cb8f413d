/** Checks what findings are computed of: whether feeds were imported, with all that this version reads of them. */
import { type ImportedFeed, readFeedStates } from "../../services/index.ts";
import type { Database } from "../../store/index.ts";
import { type CheckResult, countText, ok, skipped, warning } from "./finding.ts";

const dayMs = 86_400_000;
const maxAgeDays = 7;

/** What is missing for findings, and which feeds are old. */
export async function checkFeeds(database: Database, nowMs: number): Promise<CheckResult> {
  const { feeds, hasMetadata, hasDocuments } = await readFeedStates(database.read);
  if (feeds.length === 0 && !hasMetadata && !hasDocuments) return skipped("no feed was imported");
  const has = (command: string) => feeds.some((feed) => feed.command === command);
  const missing = [
    ...(hasMetadata && !has("osv")
      ? ["vulnerability metadata have no affected packages: run `platform import osv` again"]
      : []),
    ...(hasDocuments && !has("advisories")
      ? ["advisory documents say nothing about packages: run `platform import advisories` again"]
      : []),
    ...(has("epss") ? [] : ["there are no scores of EPSS: run `platform import epss`"]),
    ...(has("kev") ? [] : ["there is no catalog of known exploited vulnerabilities: run `platform import kev`"]),
  ];
  const old = feeds.filter(({ importMs }) => nowMs - importMs > maxAgeDays * dayMs);
  const details = [...missing, ...old.map((feed) => ageText(feed, nowMs))];
  if (details.length === 0) return ok(`${countText(feeds.length, "feed")} imported within the last ${maxAgeDays} days`);
  return warning("findings are not complete", "docs/feeds.md; import feeds regularly", details);
}

function ageText({ command, feed, importMs }: ImportedFeed, nowMs: number): string {
  return `the feed ${feed} (import ${command}) was imported ${countText(Math.floor((nowMs - importMs) / dayMs), "day")} ago`;
}
