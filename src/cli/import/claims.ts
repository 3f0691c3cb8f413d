/** The options that say which packages a feed lists completely, and what is stored of a feed after its import. */
import type { Command } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { packageKeyOfUrl } from "../../matching/index.ts";
import { type FeedClaim, saveFeed } from "../../services/index.ts";
import type { Database } from "../../store/index.ts";

/** The values of the options. */
export interface ClaimFlags {
  readonly completeFor?: readonly string[];
  readonly fixesOnly?: boolean;
}

/** Adds the options. */
export function withClaims(command: Command): Command {
  return command
    .option(
      "--complete-for <PATTERN>",
      "packages whose vulnerabilities the feed lists completely, so that it decides about them: pkg:apk/wolfi/*, or with a release pkg:apk/alpine/*?distro=alpine-3.19; may be repeated; stored in the database until it is given again",
      (value: string, all: readonly string[] = []) => [...all, value],
    )
    .option("--fixes-only", "the feed lists only vulnerabilities of these packages that are fixed");
}

/** What the options say; undefined if they say nothing. Errors: CommandFailure. */
export function claimsOf({ completeFor, fixesOnly = false }: ClaimFlags): readonly FeedClaim[] | undefined {
  if (completeFor === undefined) {
    if (fixesOnly) throw new CommandFailure("--fixes-only needs --complete-for");
    return undefined;
  }
  for (const pattern of completeFor) checkPattern(pattern);
  return [...new Set(completeFor)].map((pattern) => ({ pattern, coverage: fixesOnly ? "FIXES_ONLY" : "COMPLETE" }));
}

/** Stores that a feed was imported to its end. */
export async function recordFeed(database: Database, feed: Parameters<typeof saveFeed>[1]): Promise<void> {
  await database.transact((session) => saveFeed(session, feed), { isSerializable: true });
}

/** A pattern is a key, or the start of one and an asterisk, and may name a release. */
function checkPattern(pattern: string): void {
  const [keys = "", distro] = pattern.split("?distro=");
  const key = keys.replace(/\*$/, "x");
  if (packageKeyOfUrl(key) !== key || (distro !== undefined && !/^[a-z][\w.+-]*$/.test(distro)))
    throw new CommandFailure(
      `--complete-for must be like pkg:apk/wolfi/* or pkg:apk/alpine/*?distro=alpine-3.19, not ${JSON.stringify(pattern)}`,
    );
}
