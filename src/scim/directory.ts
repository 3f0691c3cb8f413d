/** The users and groups of one provider, as SCIM resources. */
import type { EventRecorder, RunningCall } from "../pipeline/index.ts";
import type { RowChange } from "../resource/index.ts";
import {
  changeMembers,
  countEntries,
  countMembers,
  deprovisionIdentity,
  type Entry,
  findMissing,
  findUser,
  identityOfEntry,
  pageOfEntries,
  readEntries,
  readEntry,
  removeEntry,
  saveEntry,
} from "../services/index.ts";
import { NotUniqueError, type ReadSession, type WriteSession } from "../store/index.ts";
import { ScimError } from "./errors.ts";
import { meets } from "./filter.ts";
import { limits } from "./limits.ts";
import { lookupIn } from "./lookup.ts";
import { type MemberChange, membersAre, separateMembers } from "./members.ts";
import { demandedId, derivedMentions, mentions, narrow } from "./narrowing.ts";
import { operationsOf } from "./operations.ts";
import { applyOperations } from "./patch.ts";
import type { ListQuery, Projection } from "./query.ts";
import { checkResource, type Json, readResource } from "./resource.ts";
import type { ResourceType } from "./schemas.ts";
import { Views, versionOf } from "./views.ts";

/** What a directory is made from. */
export interface DirectoryOptions {
  /** A transaction, for changes. */
  readonly session: ReadSession | WriteSession;
  /** Its scope is the provider. */
  readonly call: Pick<RunningCall, "scope" | "record" | "throwIfAborted" | "pause">;
  /** Where SCIM clients reach it. */
  readonly base: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Records what changes did to identities and bindings. */
  readonly events: Pick<EventRecorder, "recordChanges">;
}

/** A provisioning client has a token without claims. */
const noClaims = { iss: "", sub: "", aud: [], exp: 0 };

/** A change of one resource. */
interface Change {
  readonly id: string;
  readonly body: unknown;
  /** The versions that it may have, as in `If-Match`; undefined for any. */
  readonly version: string | undefined;
  readonly projection: Projection;
}

/** A resource, with what header fields say of it, whatever is shown. */
interface Shown {
  readonly resource: Json;
  readonly version: string;
  readonly location: string;
}

/** A page of a list. `Resources` are in JSON, since their length decides where the page ends. */
export interface Page {
  readonly total: number;
  readonly resources: readonly string[];
}

/** The directory of a provider, in one session. */
export class Directory {
  readonly #options: DirectoryOptions;
  readonly #provider: string;
  readonly #views: Views;

  constructor(options: DirectoryOptions) {
    this.#options = options;
    this.#provider = options.call.scope;
    this.#views = new Views(options.session, options.base);
  }

  /** The transaction under way. Errors: a plain Error in a directory that only reads. */
  get #transaction(): WriteSession {
    const { session } = this.#options;
    if ("insert" in session) return session;
    throw new Error("a change of a directory that only reads");
  }

  /** Errors: ScimError 404. */
  async read(type: ResourceType, id: string, projection: Projection): Promise<Shown> {
    return this.#shown(type, await this.#find(type, id), projection);
  }

  /** Errors: ScimError for a filter that looks at too many resources. */
  async list(type: ResourceType, query: ListQuery, projection: Projection): Promise<Page> {
    const { session } = this.#options;
    if (query.filter !== undefined) return this.#search(type, query, projection);
    const total = await countEntries(session, this.#provider, type.id);
    const page = { skip: query.startIndex - 1, limit: query.count };
    const isEmpty = page.limit === 0 || page.skip >= total;
    const entries = isEmpty ? [] : await pageOfEntries(session, this.#provider, type.id, page);
    return { total, resources: await this.#show(type, entries, projection) };
  }

  /** Looks at the resources that may meet a filter. Others have their turns in between. */
  async #search(type: ResourceType, { startIndex, count, filter }: ListQuery, projection: Projection): Promise<Page> {
    const { session } = this.#options;
    const lookup = lookupIn(type);
    const asksForOthers = derivedMentions(filter!) > 0;
    const hasMeta = mentions(filter!, /(^|:)meta\b/i) > 0; // which is dear to make
    const only = demandedId(type, filter!);
    const found: Entry[] = [];
    let total = 0;
    let [examined, bytes] = [0, 0];
    const narrowing = await narrow(session, this.#provider, type, filter!);
    for await (const entries of readEntries(session, this.#provider, type.id, narrowing)) {
      for (const entry of entries) {
        const others = asksForOthers ? await this.#views.others(type, entry, only) : {};
        examined += 1 + Object.values(others).flat().length;
        bytes += entry.bytes;
        if (examined > limits.examined || bytes > limits.examinedBytes)
          throw new ScimError(
            400,
            "the filter looks at too many resources; ask for one by userName, externalId or id",
            "tooMany",
          );
        await this.#pause();
        if (!meets(Object.assign(this.#views.plain(type, entry, { hasMeta }), others), filter!, lookup)) continue;
        total++;
        if (total >= startIndex && found.length < count) found.push(entry);
      }
    }
    return { total, resources: await this.#show(type, found, projection) };
  }

  /** The resources in JSON, until the page is large. There is one at least. */
  async #show(type: ResourceType, entries: readonly Entry[], projection: Projection): Promise<string[]> {
    const shown: string[] = [];
    let bytes = 0;
    for await (const resource of this.#views.many(type, entries, projection)) {
      const text = JSON.stringify(resource);
      bytes += text.length;
      if (bytes > limits.pageBytes && shown.length > 0) break;
      shown.push(text);
      await this.#pause();
    }
    return shown;
  }

  /** Lets others have their turns, if this call has had the event loop for long. */
  async #pause(): Promise<void> {
    const { call } = this.#options;
    const turn = call.pause();
    if (turn === undefined) return;
    await turn;
    call.throwIfAborted();
  }

  async create(type: ResourceType, body: unknown, projection: Projection): Promise<Shown> {
    const resource = readResource(type, body);
    return this.#save(type, undefined, resource, membersAre(resource.members), projection);
  }

  async replace(type: ResourceType, { id, body, version, projection }: Change): Promise<Shown> {
    const before = await this.#find(type, id, version);
    const resource = readResource(type, body);
    return this.#save(type, before, resource, membersAre(resource.members), projection);
  }

  async patch(type: ResourceType, { id, body, version, projection }: Change): Promise<Shown> {
    const before = await this.#find(type, id, version);
    const operations = operationsOf(body);
    const separate = type.id === "Group" ? separateMembers(type, operations) : undefined;
    if (separate !== undefined) {
      const resource = applyOperations(type, before.resource, separate.others);
      return this.#save(type, before, resource, separate.change, projection);
    }
    const whole = { ...before.resource, ...(type.id === "Group" && (await this.#views.others(type, before))) };
    const resource = applyOperations(type, whole, operations);
    return this.#save(type, before, resource, membersAre(resource.members), projection);
  }

  async remove(type: ResourceType, id: string, version: string | undefined): Promise<void> {
    const session = this.#transaction;
    const { uid, identity } = await this.#find(type, id, version);
    await removeEntry(session, type.id, uid);
    const changes = type.id === "User" ? await deprovisionIdentity(session, this.#provider, identity) : [];
    await this.#record(uid, changes);
  }

  /** Records a change in the audit log, and what it did to identities and bindings as events. */
  async #record(uid: string, changes: readonly RowChange[]): Promise<void> {
    const { call, events, now } = this.#options;
    const session = this.#transaction;
    await call.record(session, uid);
    await events.recordChanges(session, changes, { subject: call.scope, claims: noClaims }, now());
  }

  /** Errors: ScimError 404; 412 when it has another version. */
  async #find(type: ResourceType, id: string, version?: string): Promise<Entry> {
    const entry = await readEntry(this.#options.session, this.#provider, type.id, id);
    if (entry === undefined) throw new ScimError(404, `there is no ${type.id} ${id}`);
    const known = version?.split(",").map((each) => each.trim());
    if (known !== undefined && !known.includes("*") && !known.includes(versionOf(entry)))
      throw new ScimError(412, `${type.id} ${id} has changed`);
    return entry;
  }

  async #save(
    type: ResourceType,
    before: Entry | undefined,
    { members: _, ...resource }: Json,
    members: MemberChange,
    projection: Projection,
  ): Promise<Shown> {
    checkResource(type, resource);
    const session = this.#transaction;
    const nowMs = this.#options.now();
    const changes: RowChange[] = [];
    let identity = "";
    if (type.id === "User") {
      const { externalId = "" } = resource as { externalId?: string };
      const isSame = before !== undefined && (before.resource.externalId ?? "") === externalId;
      if (before !== undefined && !isSame)
        changes.push(...(await deprovisionIdentity(session, this.#provider, before.identity)));
      if (isSame) identity = before.identity;
      else if (externalId !== "" && (await findUser(session, this.#provider, { externalId })) !== undefined)
        throw new ScimError(409, "another user has this externalId", "uniqueness");
      if (identity === "") {
        identity = await identityOfEntry(session, this.#provider, externalId);
      }
    }
    let saved: Entry;
    try {
      saved = await saveEntry(session, this.#provider, type.id, before, resource, identity, nowMs);
    } catch (error) {
      if (error instanceof NotUniqueError) throw new ScimError(409, "another user has this userName", "uniqueness");
      throw error;
    }
    if (type.id === "Group") await this.#changeMembers(saved, members, nowMs);
    await this.#record(saved.uid, changes);
    return this.#shown(type, saved, projection);
  }

  async #shown(type: ResourceType, entry: Entry, projection: Projection): Promise<Shown> {
    const resource = await this.#views.one(type, entry, projection);
    return { resource, version: versionOf(entry), location: this.#views.locationOf(type, entry) };
  }

  /** Errors: ScimError for a user that does not exist, and for too many. */
  async #changeMembers({ uid }: Entry, { isWhole, added, removed }: MemberChange, nowMs: number): Promise<void> {
    const session = this.#transaction;
    const uidOf = (id: string) => `${this.#provider}/${id}`;
    const users = [...added].map(uidOf);
    const missing = await findMissing(session, users);
    if (missing !== undefined)
      throw new ScimError(400, `there is no User ${missing.slice(this.#provider.length + 1)}`, "invalidValue");
    const change = { isWhole, added: users, removed: [...removed].map(uidOf) };
    const more = await changeMembers(session, uid, change, nowMs);
    if (more > 0 && !isWhole && (await countMembers(session, uid)) > limits.members)
      throw new ScimError(400, `a group can have ${limits.members} members`, "tooMany");
  }
}
