/** The users and groups of one provider, as SCIM resources. */
import { setImmediate as turn } from "node:timers/promises";
import type { RowChange } from "../resource/index.ts";
import {
  deprovisionIdentity,
  type Entry,
  findUser,
  groupsOf,
  identityOfEntry,
  idOf,
  membersOf,
  readEntries,
  readEntry,
  removeEntry,
  saveEntry,
  setMembers,
  usersOf,
} from "../services/index.ts";
import { NotUniqueError, type ReadSession, type WriteSession } from "../store/index.ts";
import { ScimError } from "./errors.ts";
import { type Filter, meets } from "./filter.ts";
import { lookupIn } from "./lookup.ts";
import { applyPatch } from "./patch.ts";
import { type Json, readResource, requireAttributes } from "./resource.ts";
import type { ResourceType } from "./schemas.ts";

/** What a directory is made from. */
export interface DirectoryOptions {
  /** A transaction, for changes. */
  readonly session: ReadSession | WriteSession;
  readonly provider: string;
  /** Where SCIM clients reach it. */
  readonly base: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Records a change in the audit log, and what it did to identities and bindings as events. */
  record(
    session: WriteSession,
    call: { method: string; provider: string; uid: string },
    changes: readonly RowChange[],
  ): Promise<void>;
}

/** What to list. */
export interface ListQuery {
  /** From 1. */
  readonly startIndex: number;
  readonly count: number;
  readonly filter: Filter | undefined;
}

/** The directory of a provider, in one session. */
export class Directory {
  readonly #options: DirectoryOptions;

  constructor(options: DirectoryOptions) {
    this.#options = options;
  }

  /** The transaction under way. Errors: a plain Error in a directory that only reads. */
  get #transaction(): WriteSession {
    const { session } = this.#options;
    if ("insert" in session) return session;
    throw new Error("a change of a directory that only reads");
  }

  /** Errors: ScimError 404. */
  async read(type: ResourceType, id: string): Promise<Json> {
    return this.#resourceOf(type, await this.#find(type, id));
  }

  async list(
    type: ResourceType,
    { startIndex, count, filter }: ListQuery,
  ): Promise<{ total: number; resources: Json[] }> {
    const { session, provider } = this.#options;
    const lookup = lookupIn(type);
    const resources: Json[] = [];
    let total = 0;
    for await (const entries of readEntries(session, provider, type.id, equalsOf(type, filter))) {
      for (const entry of entries) {
        // The members of a group are read only for those that are shown, or that a filter asks for.
        const isWhole = filter !== undefined && mentionsDerived(filter);
        const candidate = isWhole ? await this.#resourceOf(type, entry) : this.#plain(type, entry);
        if (filter !== undefined && !meets(candidate, filter, lookup)) continue;
        total++;
        if (total >= startIndex && resources.length < count)
          resources.push(isWhole ? candidate : await this.#resourceOf(type, entry));
      }
      await turn(); // other calls go on
    }
    return { total, resources };
  }

  async create(type: ResourceType, body: unknown): Promise<Json> {
    const resource = readResource(type, body);
    requireAttributes(type, resource);
    return this.#save(type, undefined, resource, "create");
  }

  async replace(type: ResourceType, id: string, body: unknown, version: string | undefined): Promise<Json> {
    const before = await this.#find(type, id, version);
    const resource = readResource(type, body);
    requireAttributes(type, resource);
    return this.#save(type, before, resource, "replace");
  }

  async patch(type: ResourceType, id: string, body: unknown, version: string | undefined): Promise<Json> {
    const before = await this.#find(type, id, version);
    const whole = type.id === "Group" ? { ...before.resource, ...(await this.#members(before)) } : before.resource;
    const resource = applyPatch(type, whole, body);
    requireAttributes(type, resource);
    return this.#save(type, before, resource, "patch");
  }

  async remove(type: ResourceType, id: string, version: string | undefined): Promise<void> {
    const { provider, record } = this.#options;
    const session = this.#transaction;
    const { uid, identity } = await this.#find(type, id, version);
    await removeEntry(session, type.id, uid);
    const changes = type.id === "User" ? await deprovisionIdentity(session, provider, identity) : [];
    await record(session, { method: `scim/delete${type.id}`, provider, uid }, changes);
  }

  /** Errors: ScimError 404; 412 when it has another version. */
  async #find(type: ResourceType, id: string, version?: string): Promise<Entry> {
    const { session, provider } = this.#options;
    const entry = await readEntry(session, provider, type.id, id);
    if (entry === undefined) throw new ScimError(404, `there is no ${type.id} ${id}`);
    const known = version?.split(",").map((each) => each.trim());
    if (known !== undefined && !known.includes("*") && !known.includes(versionOf(entry)))
      throw new ScimError(412, `${type.id} ${id} has changed`);
    return entry;
  }

  async #save(type: ResourceType, before: Entry | undefined, resource: Json, verb: string): Promise<Json> {
    const { provider, now, record } = this.#options;
    const session = this.#transaction;
    const nowMs = now();
    const { members, ...stored } = resource;
    const changes: RowChange[] = [];
    let identity = "";
    if (type.id === "User") {
      const { externalId = "" } = stored as { externalId?: string };
      const isSame = before !== undefined && (before.resource.externalId ?? "") === externalId;
      if (before !== undefined && !isSame)
        changes.push(...(await deprovisionIdentity(session, provider, before.identity)));
      if (isSame) identity = before.identity;
      else if (externalId !== "" && (await findUser(session, provider, { externalId })) !== undefined)
        throw new ScimError(409, "another user has this externalId", "uniqueness");
      if (identity === "") {
        identity = await identityOfEntry(session, provider, externalId);
      }
    }
    let saved: Entry;
    try {
      saved = await saveEntry(session, provider, type.id, before, stored, identity, nowMs);
    } catch (error) {
      if (error instanceof NotUniqueError) throw new ScimError(409, "another user has this userName", "uniqueness");
      throw error;
    }
    if (type.id === "Group") await setMembers(session, saved.uid, await this.#usersIn(members), nowMs);
    await record(session, { method: `scim/${verb}${type.id}`, provider, uid: saved.uid }, changes);
    return this.#resourceOf(type, saved);
  }

  /** The uids of members. Errors: ScimError for one that does not exist. */
  async #usersIn(members: unknown): Promise<string[]> {
    const { session, provider } = this.#options;
    const ids = ((members ?? []) as Json[]).map(({ value }) => String(value));
    const uids = [...new Set(ids)].map((id) => `${provider}/${id}`);
    const known = await usersOf(session, uids);
    const missing = ids.find((id) => !known.has(`${provider}/${id}`));
    if (missing !== undefined) throw new ScimError(400, `there is no User ${missing}`, "invalidValue");
    return uids;
  }

  async #members({ uid }: Entry): Promise<{ members?: Json[] }> {
    const { session, base } = this.#options;
    const users = await usersOf(session, await membersOf(session, uid));
    const members = [...users.values()].map(({ uid: user }) => ({
      value: idOf(user),
      $ref: `${base}/Users/${idOf(user)}`,
      type: "User",
    }));
    return members.length === 0 ? {} : { members };
  }

  #plain(type: ResourceType, { uid, createMs, updateMs, resource, ...entry }: Entry): Json {
    const { base } = this.#options;
    const id = idOf(uid);
    const { schema, extension } = type;
    return {
      schemas: [schema.id, ...(extension !== undefined && extension.id in resource ? [extension.id] : [])],
      id,
      ...resource,
      meta: {
        resourceType: type.id,
        created: new Date(createMs).toISOString(),
        lastModified: new Date(updateMs).toISOString(),
        location: `${base}${type.endpoint}/${id}`,
        version: versionOf(entry),
      },
    };
  }

  async #resourceOf(type: ResourceType, entry: Entry): Promise<Json> {
    const plain = this.#plain(type, entry);
    if (type.id === "Group") return { ...plain, ...(await this.#members(entry)) };
    const { session, base } = this.#options;
    const groups = (await groupsOf(session, entry.uid)).map(({ uid, resource }) => ({
      value: idOf(uid),
      $ref: `${base}/Groups/${idOf(uid)}`,
      display: String(resource.displayName),
      type: "direct",
    }));
    return groups.length === 0 ? plain : { ...plain, groups };
  }
}

function versionOf({ version }: Pick<Entry, "version">): string {
  return `W/"${version}"`;
}

/** What a filter says that an index finds: clients look users up before they create them. */
function equalsOf(type: ResourceType, filter: Filter | undefined): Parameters<typeof readEntries>[3] {
  if (filter?.kind === "and") return { ...equalsOf(type, filter.left), ...equalsOf(type, filter.right) };
  if (filter?.kind !== "compare" || filter.operator !== "eq" || typeof filter.value !== "string") return {};
  const name = filter.path.toLowerCase().replace(`${type.schema.id.toLowerCase()}:`, "");
  if (type.id === "User" && name === "username") return { user_name: filter.value.toLowerCase() };
  if (name === "externalid") return { external_id: filter.value };
  return {};
}

/** Whether a filter asks for what other entries tell: the members of a group, the groups of a user. */
function mentionsDerived(filter: Filter): boolean {
  switch (filter.kind) {
    case "and":
    case "or":
      return mentionsDerived(filter.left) || mentionsDerived(filter.right);
    case "not":
      return mentionsDerived(filter.of);
    default:
      return /(^|:)(members|groups)\b/i.test(filter.path);
  }
}
