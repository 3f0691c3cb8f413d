/** SummarizeFindings: how many vulnerabilities are open, by day, group, repo and level. */
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import type { UidpFilter } from "../../../../gen/platform/common/uidp_filter_pb.ts";
import {
  FindingCountsSchema,
  type SummarizeFindingsRequest,
  SummarizeFindingsResponseSchema,
} from "../../../../gen/platform/findings/v1/findings_pb.ts";
import { scopesOf } from "../../../auth/index.ts";
import { invalid } from "../../../errors.ts";
import { databaseOf, environmentOf, messagePageLength, selectionOf } from "../../../resource/index.ts";
import type { ReadSession, Selection } from "../../../store/index.ts";
import { repos } from "../../registry/repos.ts";
import type { KnownComponents } from "../known/components.ts";
import { changesSince, firstChanges, openVulnerabilities } from "./open-vulnerabilities.ts";
import {
  countsOf,
  dayCountsOf,
  dayOf,
  findingDays,
  findingStates,
  firstDay,
  msOfDay,
  type RepoState,
  stateOf,
} from "./stored-counts.ts";
import { type Dimension, dimensions, Summary, type SummaryQuery } from "./summary.ts";

/** The rows of an answer at most. */
const maxRows = 10_000;
/** The rows that are read at once. */
const portion = 500;

/** The method. @param memory what is known about components. Its errors: INVALID_ARGUMENT. */
export function summarizingFindings(memory: KnownComponents) {
  return async (request: SummarizeFindingsRequest, context: HandlerContext) => {
    const session = databaseOf(context);
    const today = dayOf(environmentOf(context).nowMs);
    const query = queryOf(request, today);
    const began = await firstDay(session);
    const asked = await askedRepos(session, scopesOf(context), request.uidp);
    const summary = new Summary(query);
    const states = await addStored(session, summary, asked, query);
    if (query.from <= today && query.to >= today) {
      const open = await openVulnerabilities(session, memory, asked.place);
      for (const repo of asked.repos) {
        await session.pause();
        const state = states.get(repo);
        const now = open.get(repo) ?? new Map();
        const isFirst = state === undefined && began === undefined;
        const changes = isFirst ? firstChanges(now, today) : changesSince(state?.levels ?? new Map(), now);
        const counts = countsOf([...now.values()].map(({ level }) => level));
        const more = state === undefined ? counts : counts.map((count, level) => count - state.open[level]!);
        summary.add(repo, { day: today, open: more, ...changes });
      }
    }
    const messages = summary.rows(maxRows)?.map(({ day, ...counts }) =>
      create(FindingCountsSchema, {
        ...(day !== undefined && { day: timestampFromMs(msOfDay(day)) }),
        ...counts,
      }),
    );
    if (messages === undefined || messagePageLength(FindingCountsSchema, messages) < messages.length)
      throw invalid({
        field: "by",
        description: `gives more than ${maxRows} rows or 3.5 MiB: ask for fewer days, a part of the hierarchy, or less`,
      });
    return create(SummarizeFindingsResponseSchema, {
      counts: messages,
      firstDay: timestampFromMs(msOfDay(began ?? today)),
    });
  };
}

/** Errors: INVALID_ARGUMENT on `by`, `from` and `to`. */
function queryOf({ by, from, to }: SummarizeFindingsRequest, today: number): SummaryQuery {
  const names = (by === "" ? "level" : by).split(",").map((name) => name.trim());
  const unknown = names.find((name) => !dimensions.includes(name as Dimension));
  if (unknown !== undefined)
    throw invalid({ field: "by", description: `${JSON.stringify(unknown)} must be one of ${dimensions.join(", ")}` });
  const dayOfTime = (time: Timestamp) => dayOf(timestampMs(time));
  const last = to === undefined ? today : dayOfTime(to);
  const first = from === undefined ? last : dayOfTime(from);
  if (first > last)
    throw to === undefined
      ? invalid({ field: "from", description: "must not be after today" })
      : invalid({ field: "to", description: "must not be before from" });
  return { by: new Set(names as Dimension[]), from: first, to: Math.min(last, today) };
}

/** The repos that a request is about. */
interface AskedRepos {
  readonly repos: ReadonlySet<string>;
  /** Selects what is below them, and perhaps below others. */
  readonly place: Selection;
}

async function askedRepos(
  session: ReadSession,
  scopes: readonly string[],
  uidp: UidpFilter | undefined,
): Promise<AskedRepos> {
  const selection = selectionOf(scopes, [], uidp);
  const found = new Set<string>();
  for await (const rows of session.pages(repos.table, { ...selection, limit: portion, columns: [] }))
    for (const { uid } of rows) found.add(uid);
  return { repos: found, place: placeOf(selection, found) };
}

function placeOf({ within, uids, parent }: Selection, found: ReadonlySet<string>): Selection {
  const below = (roots: Iterable<string>) => ({ within: Array.from(roots, (root) => ({ root, self: false })) });
  if (uids !== undefined || found.size === 0) return below(found);
  if (parent !== undefined) return below([parent]);
  return within === undefined ? {} : { within };
}

/**
 * Adds what is stored, and returns the states. They are read first: a day that ends meanwhile is in the state that was
 * read, and is not counted again.
 */
async function addStored(
  session: ReadSession,
  summary: Summary,
  { repos, place }: AskedRepos,
  { from }: SummaryQuery,
): Promise<ReadonlyMap<string, RepoState>> {
  const states = new Map<string, RepoState>();
  for await (const rows of session.pages(findingStates, { ...place, limit: portion }))
    for (const row of rows) {
      await session.pause();
      if (!repos.has(row.parent)) continue;
      const state = stateOf(row);
      states.set(row.parent, state);
      summary.add(row.parent, state);
    }
  const where = [{ column: "end_day", greaterThan: from }];
  for await (const rows of session.pages(findingDays, { ...place, where, limit: portion }))
    for (const row of rows) {
      const state = states.get(row.parent);
      const counts = dayCountsOf(row);
      if (state !== undefined && counts.day < state.day) summary.add(row.parent, counts, Number(row.columns.end_day));
    }
  return states;
}
