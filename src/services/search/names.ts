/** The service that finds resources by the beginning of their names. */
import { create } from "@bufbuild/protobuf";
import {
  FoundResourceSchema,
  type SearchNamesRequest,
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
import type { ScalarValue } from "../../store/index.ts";

/** @param services whose resources are found. */
export function searchService(services: readonly MountedService[]): MountedService {
  const all = namedResources(services);
  return implement(SearchService, [], {
    async searchNames(request: SearchNamesRequest, context) {
      const { query, after, pageSize, tokenAfter } = openList(unsortable, request, context);
      const { prefix, scope = "" } = query;
      const session = databaseOf(context);
      const { grants } = authorityOf(context);
      const pages = await Promise.all(
        ofTypes(all, query.types).map(async ({ type, table, visibleTo }) => {
          const rows = await session.list(table, {
            ...visibleTo(grants, scope),
            where: [{ column: "name", startsWith: prefix }],
            orderBy: [{ column: "name", descending: false }],
            ...(after && { after: placeIn(type, after) }),
            columns: [],
            limit: pageSize + 1,
          });
          return rows.map(({ uid, columns }) => ({ type, uid, name: String(columns.name) }));
        }),
      );
      const found = inOrder(pages.flat());
      const results = found.slice(0, pageSize);
      const last = found.length > pageSize ? results.at(-1) : undefined;
      return create(SearchNamesResponseSchema, {
        results: results.map((result) => create(FoundResourceSchema, result)),
        ...(last && { nextPageToken: tokenAfter([last.name, last.type, last.uid]) }),
      });
    },
  });
}

const unsortable = { sortNames: {}, defaultOrder: [] };

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

/** The rows of several types, each by name and uid, in the order of the databases: by name, byte by byte, then type. */
function inOrder<R extends { readonly name: string }>(rows: readonly R[]): R[] {
  return rows
    .map((row) => ({ row, key: Buffer.from(row.name) }))
    .sort((a, b) => Buffer.compare(a.key, b.key))
    .map(({ row }) => row);
}
