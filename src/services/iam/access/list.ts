/**
 * The list of grants: several tables one after another, each in an order of an index, or merged in one order; so that a
 * page costs the same wherever it is.
 */
import type { Grant } from "../../../../gen/platform/access/v1/access_pb.ts";
import type { Awaitable } from "../../../awaitable.ts";
import {
  batchFor,
  columnValue,
  keyComparison,
  merged,
  type OrderTerm,
  type PagePart,
  pageOf,
  type ReadSession,
  type Row,
  type ScalarValue,
  type Selection,
  type TableSpec,
} from "../../../store/index.ts";
import { ancestorsOf, parentOf, rootOf } from "../../../uid.ts";
import { administratorRoleUid } from "../built-in-roles.ts";
import { externalGroupRoleMappings } from "../external-group-role-mappings.ts";
import { groupInvites } from "../group-invites.ts";
import { identities } from "../identities.ts";
import { identityProviders } from "../identity-providers.ts";
import { withoutSignIn } from "../provisioning/sign-ins.ts";
import { roleBindings } from "../role-bindings.ts";
import {
  type FoundGrant,
  grantsOfBindings,
  grantsOfDefaultRoles,
  grantsOfInvites,
  grantsOfMappings,
  mayGetIdentity,
  type Reader,
} from "./found-grants.ts";
import { grantMessages } from "./messages.ts";

/**
 * Which grants: those that count at a scope, those of an identity, or those of an identity at, above or below a scope.
 */
export type AccessQuery =
  | { readonly scope: string; readonly identity?: string | undefined }
  | { readonly scope?: undefined; readonly identity: string };

/** A part of the list: rows of one table in one order. */
interface Part {
  readonly table: TableSpec;
  readonly selection: Selection;
  /** The column of the order, before the uid. By default the uid alone. */
  readonly column?: string;
  /** The grant of each row. */
  find(rows: readonly Row[]): Awaitable<FoundGrant[]>;
}

/** A page of the list. */
interface AccessPage {
  readonly grants: readonly Grant[];
  /** The place of the last grant; undefined on the last page. */
  readonly last: readonly ScalarValue[] | undefined;
}

const all = { limit: Number.MAX_SAFE_INTEGER };

/** Which part of the list to read. */
interface AccessPart extends PagePart {
  /** By default the parts follow each other, each in its own order. */
  readonly order?: readonly OrderTerm[];
  /** The place behind which it begins. */
  readonly after?: readonly ScalarValue[] | undefined;
}

/** A row that makes a grant. */
interface GrantRow {
  readonly part: Part;
  readonly row: Row;
  /** Its place in the list. */
  readonly key: readonly ScalarValue[];
}

/** Reads a page of the list. */
export async function listAccess(
  session: ReadSession,
  reader: Reader,
  query: AccessQuery,
  { order = [], after, skip, limit }: AccessPart,
): Promise<AccessPage> {
  const parts = await partsOf(session, reader, query);
  const batch = batchFor({ skip, limit });
  const rows = order.length === 0 ? inTurn(session, parts, after, batch) : inOrder(session, parts, order, after, batch);
  const { items, last } = await pageOf(rows, { skip, limit });
  const grants = await grantMessages(session, reader, await grantsOf(items), query.scope);
  return { grants, last: last?.key };
}

/** The rows of one part after the other. A place is the number of a part and the key of a row in it. */
async function* inTurn(
  session: ReadSession,
  parts: readonly Part[],
  [first, ...key]: readonly ScalarValue[] = [0],
  limit: number,
): AsyncGenerator<GrantRow> {
  for (let i = Number(first); i < parts.length; i++) {
    const { column } = parts[i]!;
    const order = column === undefined ? [] : [{ column, descending: false }];
    const after = i === first && key.length > 0 ? key : undefined;
    for await (const found of rowsOf(session, parts[i]!, order, after, limit))
      yield { ...found, key: [i, ...found.key] };
  }
}

/** The rows of all parts in one order. A place is the key of a row. */
function inOrder(
  session: ReadSession,
  parts: readonly Part[],
  order: readonly OrderTerm[],
  after: readonly ScalarValue[] | undefined,
  limit: number,
): AsyncGenerator<GrantRow> {
  const compare = keyComparison(order);
  return merged(
    parts.map((part) => rowsOf(session, part, order, after, limit)),
    (a, b) => compare(a.key, b.key),
  );
}

/** The rows of a part in an order. `limit`: how many are read at once. */
async function* rowsOf(
  session: ReadSession,
  part: Part,
  orderBy: readonly OrderTerm[],
  after: readonly ScalarValue[] | undefined,
  limit: number,
): AsyncGenerator<GrantRow> {
  const query = { ...part.selection, orderBy, ...(after && { after }), limit };
  for await (const rows of session.pages(part.table, query)) {
    for (const row of rows)
      yield { part, row, key: [...orderBy.map(({ column }) => columnValue(row, column)), row.uid] };
  }
}

/** The grants that rows make, in their order. */
async function grantsOf(rows: readonly GrantRow[]): Promise<FoundGrant[]> {
  const byUid = new Map<string, FoundGrant>();
  for (const [part, found] of Map.groupBy(rows, ({ part: each }) => each)) {
    const grants = await part.find(found.map(({ row }) => row));
    for (const [i, { row }] of found.entries()) byUid.set(row.uid, grants[i]!);
  }
  return rows.map(({ row }) => byUid.get(row.uid)!);
}

/** How many grants the list has. */
export async function countAccess(session: ReadSession, reader: Reader, query: AccessQuery): Promise<number> {
  const parts = await partsOf(session, reader, query);
  const counts = await Promise.all(parts.map(({ table, selection }) => session.count(table, selection)));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** All grants of the list. */
export async function* allAccess(session: ReadSession, reader: Reader, query: AccessQuery): AsyncGenerator<Grant> {
  let after: readonly ScalarValue[] | undefined;
  do {
    const page: AccessPage = await listAccess(session, reader, query, { after, skip: 0, limit: 200 });
    yield* page.grants;
    after = page.last;
  } while (after !== undefined);
}

async function partsOf(session: ReadSession, reader: Reader, query: AccessQuery): Promise<readonly Part[]> {
  const { scope, identity } = query;
  return identity === undefined
    ? partsOfScope(session, reader, scope!)
    : [
        ...bindingsOfIdentity(session, reader, identity, scope),
        ...(await promisesToUser(session, reader, identity, scope)),
      ];
}

/** The grants that count at a scope. */
function partsOfScope(session: ReadSession, reader: Reader, scope: string): readonly Part[] {
  const path = [...ancestorsOf(scope), scope].reverse();
  const root = rootOf(scope);
  const find = (rows: readonly Row[]) => grantsOfBindings(session, reader, rows);
  return [
    ...path.map((parent): Part => ({ table: roleBindings.table, selection: { parent }, column: "identity_uid", find })),
    { table: roleBindings.table, selection: { where: administratorsElsewhere(path) }, find },
    {
      table: identityProviders.table,
      selection: { parent: root },
      find: (rows) => grantsOfDefaultRoles(rows, ""),
    },
    {
      table: externalGroupRoleMappings.table,
      selection: { within: [{ root, self: false }] },
      find: (rows) => grantsOfMappings(rows, ""),
    },
    ...path.map(
      (parent): Part => ({
        table: groupInvites.table,
        selection: { parent },
        find: (rows) => grantsOfInvites(reader, rows),
      }),
    ),
  ];
}

/** The role bindings of an identity: at a scope and above it, of the administrator, and below the scope. */
function bindingsOfIdentity(
  session: ReadSession,
  reader: Reader,
  identity: string,
  scope: string | undefined,
): readonly Part[] {
  const own = { column: "identity_uid", equals: identity };
  const part = (selection: Selection): Part => ({
    table: roleBindings.table,
    selection,
    find: (rows) => grantsOfBindings(session, reader, rows),
  });
  if (scope === undefined) return [part({ where: [own] })];
  const above = ancestorsOf(scope);
  return [
    part({ parent: scope, where: [own] }),
    ...above.toReversed().map((parent) => part({ parent, where: [own] })),
    part({ where: [own, ...administratorsElsewhere([...above, scope])] }),
    part({ within: [{ root: scope, self: false }], where: [own, { column: "parent", notIn: [scope] }] }),
  ];
}

/** The roles that identity providers give to a user of their issuer whom the reader may get. */
async function promisesToUser(
  session: ReadSession,
  reader: Reader,
  user: string,
  scope: string | undefined,
): Promise<readonly Part[]> {
  const providers = await providersOf(session, reader, user, scope);
  if (providers.length === 0) return [];
  const uids = providers.map(({ uid }) => uid);
  const others = await withoutSignIn(session, providers, user);
  return [
    {
      table: identityProviders.table,
      selection: { uids: others.map(({ uid }) => uid) },
      find: (rows) => grantsOfDefaultRoles(rows, user),
    },
    {
      table: externalGroupRoleMappings.table,
      selection: { within: uids.map((root) => ({ root, self: false })) },
      find: (rows) => grantsOfMappings(rows, user),
    },
  ];
}

/** The identity providers of the issuer of a user whom the reader may get, in the organisation of `scope` if given. */
export async function providersOf(
  session: ReadSession,
  reader: Reader,
  user: string,
  scope: string | undefined,
): Promise<Row[]> {
  if (parentOf(user) !== "" || !mayGetIdentity(reader, user)) return [];
  const row = await session.get(identities.table, user);
  if (row === undefined) return [];
  const where = [{ column: "issuer", equals: String(row.columns.issuer) }];
  return session.list(identityProviders.table, {
    where,
    ...(scope !== undefined && { parent: rootOf(scope) }),
    ...all,
  });
}

/** The bindings of administrators in other groups than these. They count everywhere. */
function administratorsElsewhere(groups: readonly string[]) {
  return [
    { column: "role_uid", equals: administratorRoleUid },
    { column: "parent", notIn: groups },
  ];
}
