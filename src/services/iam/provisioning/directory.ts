/**
 * The users and groups that a provisioning client keeps at an identity provider, and who is in which group. A user is
 * the identity that its external id is the subject of, as the provider's correlation rule says.
 */

import { setImmediate as turn } from "node:timers/promises";
import { newUid } from "../../../new-uid.ts";
import { newRow } from "../../../resource/index.ts";
import { NotUniqueError, type ReadSession, type Row, type TableSpec, type WriteSession } from "../../../store/index.ts";

/** A JSON object. */
type Json = Record<string, unknown>;

/** A type of entries. */
export type EntryType = "User" | "Group";

/** A stored user or group. Times are in milliseconds since 1970. */
export class Entry {
  readonly uid: string;
  readonly version: number;
  readonly createMs: number;
  readonly updateMs: number;
  /** The uid of the identity of a user; "" until it is known. */
  readonly identity: string;
  readonly #body: Uint8Array;
  #resource: Json | undefined;

  constructor({ uid, version, createTimeUs, updateTimeUs, body, columns }: Row) {
    this.uid = uid;
    this.version = version;
    this.createMs = createTimeUs / 1000;
    this.updateMs = updateTimeUs / 1000;
    this.identity = String(columns.identity ?? "");
    this.#body = body;
  }

  /** How long `resource` is in JSON. */
  get bytes(): number {
    return this.#body.length;
  }

  /**
   * Without `id`, `meta`, and what is derived: the members of a group, the groups of a user. Parsed when it is read.
   */
  get resource(): Json {
    this.#resource ??= JSON.parse(Buffer.from(this.#body).toString()) as Json;
    return this.#resource;
  }
}

/** The rows of users, below their provider. `identity`: the uid of the identity of the user; "" until it is known. */
export const usersTable: TableSpec = {
  name: "scim_users",
  columns: { user_name: "text", external_id: "text", active: "integer", identity: "text" },
  isWatched: true,
  quota: "scim_users",
  byteQuota: "scim_user_bytes",
};
export const groupsTable: TableSpec = {
  name: "scim_groups",
  columns: { display_name: "text", external_id: "text" },
  isWatched: true,
  quota: "scim_groups",
  byteQuota: "scim_group_bytes",
};
/** The rows of members, below their group; the last part of the uid is that of the user. */
export const membersTable: TableSpec = {
  name: "scim_members",
  columns: { user_uid: "text" },
  isWatched: true,
  quota: "scim_members",
};

const pageSize = 100;
/** Rows of members that are read or changed before other calls go on. */
const membersAtOnce = 500;
const tableOf = { User: usersTable, Group: groupsTable } as const;

/** The last part of a uid, by which SCIM knows an entry. */
export function idOf(uid: string): string {
  return uid.slice(uid.lastIndexOf("/") + 1);
}

/** The entry with an id. */
export async function readEntry(
  session: ReadSession,
  provider: string,
  type: EntryType,
  id: string,
): Promise<Entry | undefined> {
  if (!/^[0-9a-f]{16}$/.test(id)) return undefined;
  const row = await session.get(tableOf[type], `${provider}/${id}`);
  return row && entryOf(row);
}

/** What a list is restricted to before it is filtered. */
export interface Narrowing {
  readonly equals?: Readonly<Partial<Record<"user_name" | "external_id", string>>>;
  /** These uids. */
  readonly uids?: readonly string[];
}

/** The entries of a provider, oldest uid first, in portions. */
export async function* readEntries(
  session: ReadSession,
  provider: string,
  type: EntryType,
  { equals = {}, uids }: Narrowing = {},
): AsyncGenerator<Entry[]> {
  const where = Object.entries(equals).map(([column, value]) => ({ column, equals: value }));
  const selection = { parent: provider, where, ...(uids !== undefined && { uids }) };
  for await (const rows of session.pages(tableOf[type], { ...selection, limit: pageSize })) yield rows.map(entryOf);
}

/** One page of all entries of a provider, oldest uid first. */
export async function pageOfEntries(
  session: ReadSession,
  provider: string,
  type: EntryType,
  { skip, limit }: { readonly skip: number; readonly limit: number },
): Promise<Entry[]> {
  return (await session.list(tableOf[type], { parent: provider, skip, limit })).map(entryOf);
}

/** How many entries a provider has. */
export async function countEntries(session: ReadSession, provider: string, type: EntryType): Promise<number> {
  return session.count(tableOf[type], { within: [{ root: provider, self: false }] });
}

/** Stores an entry: a new one without `before`. Errors: NotUniqueError for a user name that another user has. */
export async function saveEntry(
  session: WriteSession,
  provider: string,
  type: EntryType,
  before: Entry | undefined,
  resource: Json,
  identity: string,
  nowMs: number,
): Promise<Entry> {
  const { externalId = "", active = true } = resource as { externalId?: string; active?: boolean };
  const columns: Record<string, string | number> =
    type === "User"
      ? {
          user_name: String(resource.userName).toLowerCase(),
          external_id: externalId,
          active: Number(active),
          identity,
        }
      : { display_name: String(resource.displayName), external_id: externalId };
  if (type === "User") {
    const where = [{ column: "user_name", equals: columns.user_name! }];
    const other = await session.first(usersTable, { parent: provider, where });
    if (other !== undefined && other.uid !== before?.uid)
      throw new NotUniqueError(usersTable.name, undefined, undefined);
  }
  const content = { body: Buffer.from(JSON.stringify(resource)), columns };
  const table = tableOf[type];
  if (before === undefined)
    return entryOf(await session.insert(table, newRow(newUid(provider), provider, nowMs, content)));
  const row = (await session.get(table, before.uid))!;
  return entryOf(await session.update(table, { ...row, ...content, updateTimeUs: nowMs * 1000 }));
}

/** Removes an entry with its memberships. */
export async function removeEntry(session: WriteSession, type: EntryType, uid: string): Promise<void> {
  const selection = type === "Group" ? { parent: uid } : { where: [{ column: "user_uid", equals: uid }] };
  for await (const rows of session.pages(membersTable, { ...selection, limit: pageSize }))
    for (const row of rows) await session.remove(membersTable, row.uid);
  await session.remove(tableOf[type], uid);
}

/** The users in a group. */
export async function membersOf(session: ReadSession, group: string): Promise<string[]> {
  const members: string[] = [];
  for await (const rows of session.pages(membersTable, { parent: group, limit: membersAtOnce })) {
    members.push(...rows.map(({ columns }) => String(columns.user_uid)));
    if (rows.length === membersAtOnce) await turn();
  }
  return members;
}

/** How many users are in a group. */
export async function countMembers(session: ReadSession, group: string): Promise<number> {
  return session.count(membersTable, { within: [{ root: group, self: false }] });
}

/** Those of the groups that have a user. */
export async function groupsWith(session: ReadSession, user: string, limit: number): Promise<string[]> {
  const where = [{ column: "user_uid", equals: user }];
  return (await session.list(membersTable, { where, limit })).map(({ parent }) => parent);
}

/** Whether a user is in a group. */
export async function isMember(session: ReadSession, group: string, user: string): Promise<boolean> {
  return session.has(membersTable, `${group}/${idOf(user)}`);
}

/** The first of the users that does not exist. */
export async function findMissing(session: ReadSession, users: readonly string[]): Promise<string | undefined> {
  for (let i = 0; i < users.length; i += membersAtOnce) {
    if (i > 0) await turn();
    const some = users.slice(i, i + membersAtOnce);
    const known = await session.getMany(usersTable, some);
    if (known.size < some.length) return some.find((user) => !known.has(user));
  }
  return undefined;
}

/** A change of the members of a group. `isWhole`: those before it leave. Users are named by their uids. */
export interface MembersChange {
  readonly isWhole: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Adds and removes rows of members. Returns how many more there are. */
export async function changeMembers(
  session: WriteSession,
  group: string,
  { isWhole, added, removed }: MembersChange,
  nowMs: number,
): Promise<number> {
  const rowOf = (user: string) => `${group}/${idOf(user)}`;
  const before = isWhole ? new Set(await membersOf(session, group)) : await membersAmong(session, added, rowOf);
  const wanted = new Set(added);
  const gone = isWhole ? [...before].filter((user) => !wanted.has(user)) : removed;
  let more = 0;
  let steps = 0;
  const step = async () => {
    if (++steps % membersAtOnce === 0) await turn();
  };
  for (const user of gone) {
    if ((await session.remove(membersTable, rowOf(user))) !== undefined) more--;
    await step();
  }
  for (const user of wanted) {
    if (before.has(user)) continue;
    const content = { body: new Uint8Array(), columns: { user_uid: user } };
    await session.insert(membersTable, newRow(rowOf(user), group, nowMs, content));
    more++;
    await step();
  }
  return more;
}

/** Those of the users that have a row of members. */
async function membersAmong(session: ReadSession, users: readonly string[], rowOf: (user: string) => string) {
  const members = new Set<string>();
  for (let i = 0; i < users.length; i += membersAtOnce) {
    if (i > 0) await turn();
    const rows = await session.getMany(membersTable, users.slice(i, i + membersAtOnce).map(rowOf));
    for (const { columns } of rows.values()) members.add(String(columns.user_uid));
  }
  return members;
}

/** The groups that a user is in. */
export async function groupsOf(session: ReadSession, user: string, limit?: number): Promise<Entry[]> {
  const uids: string[] = [];
  const selection = { where: [{ column: "user_uid", equals: user }], limit: pageSize };
  for await (const rows of session.pages(membersTable, selection)) {
    uids.push(...rows.map(({ parent }) => parent));
    if (limit !== undefined && uids.length >= limit) break;
  }
  const rows = await session.getMany(groupsTable, uids.slice(0, limit));
  return [...rows.values()].map(entryOf);
}

/** The groups that each of some users is in; undefined if these are more than `limit` together. */
export async function groupsOfMany(
  session: ReadSession,
  users: readonly string[],
  limit: number,
): Promise<ReadonlyMap<string, readonly Entry[]> | undefined> {
  if (users.length === 0) return new Map();
  const where = [{ column: "user_uid", in: users }];
  const members = await session.list(membersTable, { where, limit: limit + 1 });
  if (members.length > limit) return undefined;
  const groups = await session.getMany(groupsTable, [...new Set(members.map(({ parent }) => parent))]);
  const entries = new Map([...groups].map(([uid, row]) => [uid, entryOf(row)]));
  const byUser = Map.groupBy(members, ({ columns }) => String(columns.user_uid));
  return new Map([...byUser].map(([user, rows]) => [user, rows.flatMap(({ parent }) => entries.get(parent) ?? [])]));
}

/** The users of a provider that identities are, by the uids of the identities. */
export async function readUsersOf(
  session: ReadSession,
  provider: string,
  identities: readonly string[],
): Promise<ReadonlyMap<string, Entry>> {
  const where = [{ column: "identity", in: identities }];
  const rows = await session.list(usersTable, { parent: provider, where, limit: Number.MAX_SAFE_INTEGER });
  return new Map(rows.map((row) => [String(row.columns.identity), entryOf(row)]));
}

/** The user of an identity, or of an external id, at a provider. */
export async function findUser(
  session: ReadSession,
  provider: string,
  by: { readonly identity: string } | { readonly externalId: string },
): Promise<{ readonly uid: string; readonly isActive: boolean; readonly identity: string } | undefined> {
  const [column, value] = "identity" in by ? ["identity", by.identity] : ["external_id", by.externalId];
  if (value === "") return undefined; // which is stored for none
  const row = await session.first(usersTable, { parent: provider, where: [{ column, equals: value }] });
  return row && { uid: row.uid, isActive: row.columns.active === 1, identity: String(row.columns.identity) };
}

/** Whether any of these identities is an active user of a provider. */
export function hasActiveUser(session: ReadSession, provider: string, identities: readonly string[]): Promise<boolean> {
  const where = [
    { column: "identity", in: identities },
    { column: "active", equals: 1 },
  ];
  return session.exists(usersTable, { parent: provider, where });
}

/** Notes the identity that users are. */
export async function linkUsers(session: WriteSession, users: readonly string[], identity: string): Promise<void> {
  for (const row of (await session.getMany(usersTable, users)).values())
    await session.update(usersTable, { ...row, columns: { ...row.columns, identity } });
}

function entryOf(row: Row): Entry {
  return new Entry(row);
}
