/** The service that finds resources by the beginning of their names. */
import { create } from "@bufbuild/protobuf";
import {
  FoundResourceSchema,
  SearchNamesResponseSchema,
  SearchService,
} from "../../../gen/platform/search/v1/search_pb.ts";
import { authorityOf } from "../../auth/index.ts";
import { invalid } from "../../errors.ts";
import {
  databaseOf,
  implement,
  type MountedService,
  type NamedResource,
  namedResources,
  openList,
} from "../../resource/index.ts";
import {
  batchFor,
  type ListQuery,
  merged,
  pageOf,
  type ReadSession,
  type ScalarValue,
  type TableSpec,
} from "../../store/index.ts";

/** @param services whose resources are found. */
export function searchService(services: readonly MountedService[]): MountedService {
  const all = namedResources(services);
  return implement(SearchService, [], {
    async searchNames(request, context) {
      const { query, order, after, pageSize, tokenAfter } = openList(byName, request, context);
      const { prefix, scope = "" } = query;
      const part = { skip: request.skip, limit: pageSize };
      const descending = order[0]?.descending === true;
      const session = databaseOf(context);
      const { grants } = authorityOf(context);
      const selected = ofTypes(all, query.types).map(({ type, table, visibleTo }) => ({
        type,
        table,
        selection: { ...visibleTo(grants, scope), where: [{ column: "name", startsWith: prefix }] },
      }));
      const streams = selected.map(({ type, table, selection }) =>
        resultsOf(session, type, table, {
          ...selection,
          orderBy: [{ column: "name", descending }],
          ...(after && { after: placeIn(type, after) }),
          columns: [],
          limit: batchFor(part),
        }),
      );
      const found = merged(streams, descending ? (a, b) => compare(b, a) : compare);
      const { items, last } = await pageOf(found, part);
      const counts = await Promise.all(selected.map(({ table, selection }) => session.count(table, selection)));
      return create(SearchNamesResponseSchema, {
        results: items.map(({ type, uid, name }) => create(FoundResourceSchema, { type, uid, name })),
        totalCount: BigInt(counts.reduce((sum, count) => sum + count, 0)),
        skipped: request.skip,
        ...(last && { nextPageToken: tokenAfter([last.name, last.type, last.uid]) }),
      });
    },
  });
}

const byName = { sortNames: { name: "name" }, defaultOrder: [{ column: "name", descending: false }] };

/** A resource that was found. */
interface Result {
  readonly type: string;
  readonly uid: string;
  readonly name: string;
  /** The name as databases sort it: byte by byte. */
  readonly key: Buffer;
}

/** The results of one type, in the order of the query. */
async function* resultsOf(
  session: ReadSession,
  type: string,
  table: TableSpec,
  query: ListQuery,
): AsyncGenerator<Result> {
  for await (const rows of session.pages(table, query)) {
    for (const { uid, columns } of rows) {
      const name = String(columns.name);
      yield { type, uid, name, key: Buffer.from(name) };
    }
  }
}

/** The named resources of these types; all if there are none. Errors: INVALID_ARGUMENT for another type. */
function ofTypes(all: readonly NamedResource[], types: readonly string[]): readonly NamedResource[] {
  const known = all.map(({ type }) => type);
  const faults = types.flatMap((type, i) =>
    known.includes(type) ? [] : [{ field: `types[${i}]`, description: `must be one of ${known.join(", ")}` }],
  );
  if (faults.length > 0) throw invalid(faults);
  return types.length === 0 ? all : all.filter(({ type }) => types.includes(type));
}

/** Greater than every uid. */
const behindUids = "~";

/** The place of a result among the rows of a type: a name and a uid. */
function placeIn(type: string, [name, lastType, uid]: readonly ScalarValue[]): readonly ScalarValue[] {
  if (type === lastType) return [name!, uid!];
  return [name!, type < String(lastType) ? behindUids : ""];
}

/** By name, then type, then uid. */
function compare(a: Result, b: Result): number {
  return Buffer.compare(a.key, b.key) || (a.type < b.type ? -1 : a.type > b.type ? 1 : a.uid < b.uid ? -1 : 1);
}
