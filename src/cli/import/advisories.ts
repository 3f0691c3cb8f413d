/** `platform import advisories`: imports package advisories, as documents and as advisories of a group. */
import { toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Command } from "commander";
import { DocumentSchema } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { openOperator } from "../../app/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { groupsNotifiedOf } from "../../delivery/index.ts";
import {
  type Distribution,
  type FeedIds,
  FeedRefusal,
  type PackageAdvisories,
  parseDistribution,
  readAdvisories,
  SeenIds,
} from "../../feeds/index.ts";
import type { Operator } from "../../pipeline/index.ts";
import {
  FactWriters,
  type FeedClaim,
  groupExists,
  hasSubscriptions,
  prepareAdvisories,
  pruneAdvisories,
  pruneDocuments,
  type RecordToSave,
  type RowChange,
  recordsOfDocument,
  refreshDerivedRows,
  saveAdvisories,
  saveDocument,
  unmatchedIn,
  writeFeedOrder,
} from "../../services/index.ts";
import type { WriteSession } from "../../store/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { type ClaimFlags, claimsOf, recordFeed, withClaims } from "./claims.ts";
import { type FeedFlags, type FeedImport, importFeed, recordReader, withFeed } from "./feed.ts";
import { feedName, feedNames } from "./feed-name.ts";

interface Options extends FeedFlags, ClaimFlags {
  readonly group: string;
  readonly feed?: string;
  readonly feedOrder?: string;
  readonly distribution?: string;
}

export function importAdvisoriesCommand(): Command {
  const command = withClaims(withFeed(withSettings(new Command("advisories"), ["database", "baseUrl"])))
    .description(
      "import package advisories: advisory documents (schema 2.x), the security.json of a package repository, or OpenVEX. The format is detected. " +
        "Data of each feed is stored separately, and the API returns it merged. Advisories that a feed no longer lists are kept; " +
        "--prune removes them for this feed only. The summary counts documents and advisories",
    )
    .requiredOption("--group <UID>", "group that holds the advisories")
    .option("--feed <NAME>", "name of the feed (default: the host and path of the URL, or the absolute path)")
    .option(
      "--feed-order <NAMES>",
      "comma-separated names of the feeds that take precedence, the first one first; stored in the database until it is given again",
    )
    .option(
      "--distribution <NAME>",
      "distribution of the packages, with its release if the feed covers one, as in package URLs: wolfi, alpine-3.19. Not used for OpenVEX, which names it. Without it, reports match packages of every distribution",
    );
  return command.action((location: string) =>
    withAuditedDatabase(command, async (database, config) => {
      const {
        group,
        feed,
        feedOrder,
        prune = false,
        json = false,
        strict = false,
        ...options
      } = command.opts<Options>();
      const name = feedName(feed, location);
      const order = feedOrder === undefined ? undefined : feedNames("--feed-order", feedOrder);
      const distribution = distributionOf(options.distribution);
      const claims = claimsOf(options);
      await requireInstallation(database);
      if (!(await groupExists(database.read, group))) throw new CommandFailure(`--group: there is no group ${group}`);
      if (order !== undefined)
        await database.transact((session) => writeFeedOrder(session, order), { isSerializable: true });
      await refreshDerivedRows(database, Date.now);
      const operator = await openOperator(database, config, "import advisories");
      const importer = importInto({ group, feed: name, distribution, prune, operator });
      const onRead = () => {
        const defaults = importer.isSecdb() ? claimsOfSecdb(distribution) : [];
        return recordFeed(database, { feed: name, command: "advisories", importMs: Date.now(), claims, defaults });
      };
      await importFeed(database, location, { ...importer.feed, onRead }, { json, strict });
    }),
  );
}

function distributionOf(text: string | undefined): Distribution {
  const distribution = text === undefined ? {} : parseDistribution(text);
  if (distribution === undefined)
    throw new CommandFailure(`--distribution must be like wolfi or alpine-3.19, not ${JSON.stringify(text)}`);
  return distribution;
}

/** A secdb has all fixes of its distribution, or of a release of it, and nothing else. */
function claimsOfSecdb({ namespace, distro }: Distribution): readonly FeedClaim[] {
  if (namespace === undefined) return [];
  const pattern = `pkg:apk/${namespace}/*${distro === undefined ? "" : `?distro=${distro}`}`;
  return [{ pattern, coverage: "FIXES_ONLY" }];
}

interface Target {
  readonly group: string;
  readonly feed: string;
  readonly distribution: Distribution;
  readonly prune: boolean;
  readonly operator: Operator;
}

/** Advisories of a package, and the part of the feed that they come from. */
interface Item extends PackageAdvisories {
  readonly part: string;
  /** What they say about packages. */
  readonly records: readonly RecordToSave[];
}

/** The import, and whether what it has read is a secdb. */
interface AdvisoriesImport {
  readonly feed: FeedImport<Item>;
  isSecdb(): boolean;
}

function importInto({ group, feed, distribution, prune, operator }: Target): AdvisoriesImport {
  /** Uids of the rows of the feed. */
  const rows = new SeenIds();
  const writers = new FactWriters();
  let hasSecdb = false;
  const onRow = prune ? (uid: string) => void rows.add(uid) : undefined;

  /** Records the events of the changes, if somebody subscribes to them: a first import makes very many. */
  async function withEvents<T>(session: WriteSession, save: (onChange: (change: RowChange) => void) => Promise<T>) {
    const changes: RowChange[] = [];
    const saved = await save((change) => changes.push(change));
    if (changes.length > 0 && (await hasSubscriptions(session, groupsNotifiedOf(group))))
      await operator.recordChanges(session, changes);
    return saved;
  }

  const importer: FeedImport<Item> = {
    read: recordReader((value, unread, name) =>
      readAdvisories(value, unread, distribution).map((item) => {
        if (item instanceof FeedRefusal) return item;
        prepare(group, item);
        const { part = name, document, format } = item;
        hasSecdb ||= format === "secdb";
        const records = recordsOfDocument(document, format === "openvex");
        return {
          id: document.id,
          part,
          content: toBinary(DocumentSchema, document),
          value: { ...item, part, records },
        };
      }),
    ),

    unmatched: ({ records }) => unmatchedIn(records),

    async save(session, { part, document, advisories, records }, nowMs) {
      const write = { feed, part, nowMs, onRow };
      const saved = await withEvents(session, (onChange) =>
        saveAdvisories(session, { ...write, group, advisories, onChange }),
      );
      const facts = writers.of(session, nowMs);
      const documentSaved = await saveDocument(session, { ...write, document, records, facts });
      return { ...saved, [documentSaved]: saved[documentSaved] + 1 };
    },

    finish: (session) => writers.settle(session),

    ...(prune && {
      prune: [
        (session, ids, after) =>
          withEvents(session, (onChange) =>
            pruneAdvisories(session, { feed, group, nowMs: Date.now(), after, onChange }, keptBy(ids)),
          ),
        (session, ids, after) => pruneDocuments(session, { feed, nowMs: Date.now(), after }, keptBy(ids)),
      ],
    }),
  };
  return { feed: importer, isSecdb: () => hasSecdb };

  /** Keeps the rows of the feed, and all rows about packages of which something was refused. */
  function keptBy(ids: FeedIds) {
    return (packageName: string, rowUid: string) => rows.has(rowUid) || ids.isRefused(packageName);
  }
}

/** Prepares the advisories ahead of the transaction. Invalid ones are refused later, when they are saved. */
function prepare(group: string, { advisories }: PackageAdvisories): void {
  try {
    prepareAdvisories({ group, advisories });
  } catch (error) {
    if (ConnectError.from(error).code !== Code.InvalidArgument) throw error;
  }
}
