/**
 * The users and groups that a provisioning client keeps at an identity provider, and who is in which group. A user is
 * the identity that its external id is the subject of, as the provider's correlation rule says.
 */

import { newUid } from "../../../new-uid.ts";
import { newRow } from "../../../resource/index.ts";
import { NotUniqueError, type ReadSession, type Row, type TableSpec, type WriteSession } from "../../../store/index.ts";

/** A JSON object. */
type Json = Record<string, unknown>;

/** A type of entries. */
export type EntryType = "User" | "Group";

/** A stored user or group. Times are in milliseconds since 1970. */
export interface Entry {
  readonly uid: string;
  readonly version: number;
  readonly createMs: number;
  readonly updateMs: number;
  /** The uid of the identity of a user; "" until it is known. */
  readonly identity: string;
  /** Without `id`, `meta`, and what is derived: the members of a group, the groups of a user. */
  readonly resource: Json;
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

const pageSize = 200;
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
export type Equals = Readonly<Partial<Record<"user_name" | "external_id" | "display_name", string>>>;

/** The entries of a provider, oldest uid first, in portions. */
export async function* readEntries(
  session: ReadSession,
  provider: string,
  type: EntryType,
  equals: Equals = {},
): AsyncGenerator<Entry[]> {
  const where = Object.entries(equals).map(([column, value]) => ({ column, equals: value }));
  for await (const rows of session.pages(tableOf[type], { parent: provider, where, limit: pageSize }))
    yield rows.map(entryOf);
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
  for await (const rows of session.pages(membersTable, { parent: group, limit: pageSize }))
    members.push(...rows.map(({ columns }) => String(columns.user_uid)));
  return members;
}

/** Makes these users the members of a group. */
export async function setMembers(
  session: WriteSession,
  group: string,
  users: readonly string[],
  nowMs: number,
): Promise<void> {
  const wanted = new Set(users);
  const before = new Set(await membersOf(session, group));
  for (const user of before) if (!wanted.has(user)) await session.remove(membersTable, `${group}/${idOf(user)}`);
  for (const user of wanted) {
    if (before.has(user)) continue;
    const content = { body: new Uint8Array(), columns: { user_uid: user } };
    await session.insert(membersTable, newRow(`${group}/${idOf(user)}`, group, nowMs, content));
  }
}

/** The groups that a user is in. */
export async function groupsOf(session: ReadSession, user: string): Promise<Entry[]> {
  const uids: string[] = [];
  for await (const rows of session.pages(membersTable, {
    where: [{ column: "user_uid", equals: user }],
    limit: pageSize,
  }))
    uids.push(...rows.map(({ parent }) => parent));
  const rows = await session.getMany(groupsTable, uids);
  return [...rows.values()].map(entryOf);
}

/** Users by their uids. */
export async function usersOf(session: ReadSession, uids: readonly string[]): Promise<ReadonlyMap<string, Entry>> {
  const rows = await session.getMany(usersTable, uids);
  return new Map([...rows].map(([uid, row]) => [uid, entryOf(row)]));
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

function entryOf({ uid, version, createTimeUs, updateTimeUs, body, columns }: Row): Entry {
  return {
    uid,
    version,
    createMs: createTimeUs / 1000,
    updateMs: updateTimeUs / 1000,
    identity: String(columns.identity ?? ""),
    resource: JSON.parse(Buffer.from(body).toString()) as Json,
  };
}
