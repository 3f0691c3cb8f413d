/** Entries of a directory as the resources that clients see. */
import { type Entry, groupsOf, groupsOfMany, idOf, isMember, membersOf } from "../services/index.ts";
import type { ReadSession } from "../store/index.ts";
import { parentOf } from "../uid.ts";
import { limits } from "./limits.ts";
import { isId } from "./narrowing.ts";
import type { Projection } from "./query.ts";
import type { Json } from "./resource.ts";
import type { ResourceType } from "./schemas.ts";

/** The entity tag of an entry. */
export function versionOf({ version }: Pick<Entry, "version">): string {
  return `W/"${version}"`;
}

/** The views in one session. */
export class Views {
  readonly #session: ReadSession;
  readonly #base: string;

  constructor(session: ReadSession, base: string) {
    this.#session = session;
    this.#base = base;
  }

  /** An entry alone, with all of its members or with its groups. */
  async one(type: ResourceType, entry: Entry, projection: Projection): Promise<Json> {
    const shows = projection.shows(type.id === "Group" ? "members" : "groups", true);
    return projection.of({ ...this.plain(type, entry), ...(shows && (await this.others(type, entry))) });
  }

  /** The entries of a page. Groups have their members only if they are asked for. */
  async *many(type: ResourceType, entries: readonly Entry[], projection: Projection): AsyncGenerator<Json> {
    const isGroup = type.id === "Group";
    const shows = projection.shows(isGroup ? "members" : "groups", !isGroup);
    const users = entries.map(({ uid }) => uid);
    const groups = shows && !isGroup ? await groupsOfMany(this.#session, users, limits.examined) : undefined;
    for (const entry of entries) {
      const known = groups?.get(entry.uid) ?? [];
      const others = groups === undefined ? shows && (await this.others(type, entry)) : this.#groupsOf(known);
      yield projection.of({ ...this.plain(type, entry), ...others });
    }
  }

  /**
   * What other entries define for one: the members of a group, the groups of a user. `only`: whether this one is among
   * them.
   */
  async others(type: ResourceType, { uid }: Entry, only?: string): Promise<Json> {
    const session = this.#session;
    if (only !== undefined) {
      if (!isId(only)) return {};
      const other = `${parentOf(uid)}/${only}`;
      const [name, group, user] = type.id === "Group" ? ["members", uid, other] : ["groups", other, uid];
      return (await isMember(session, group!, user!)) ? { [name!]: [{ value: only }] } : {};
    }
    return type.id === "Group"
      ? this.#membersOf(await membersOf(session, uid))
      : this.#groupsOf(await groupsOf(session, uid, limits.groupsOfUser));
  }

  #membersOf(users: readonly string[]): Json {
    const members = users.map((uid) => {
      const id = idOf(uid);
      return { value: id, $ref: `${this.#base}/Users/${id}`, type: "User" };
    });
    return members.length === 0 ? {} : { members };
  }

  #groupsOf(entries: readonly Entry[]): Json {
    const groups = entries.map(({ uid, resource }) => ({
      value: idOf(uid),
      $ref: `${this.#base}/Groups/${idOf(uid)}`,
      display: String(resource.displayName),
      type: "direct",
    }));
    return groups.length === 0 ? {} : { groups };
  }

  /** The address of an entry. */
  locationOf({ endpoint }: ResourceType, { uid }: Entry): string {
    return `${this.#base}${endpoint}/${idOf(uid)}`;
  }

  /** An entry without what other entries define. */
  plain(type: ResourceType, entry: Entry, { hasMeta = true } = {}): Json {
    const { uid, createMs, updateMs, resource } = entry;
    const { schema, extension } = type;
    return {
      schemas: [schema.id, ...(extension !== undefined && extension.id in resource ? [extension.id] : [])],
      id: idOf(uid),
      ...resource,
      ...(hasMeta && {
        meta: {
          resourceType: type.id,
          created: new Date(createMs).toISOString(),
          lastModified: new Date(updateMs).toISOString(),
          location: this.locationOf(type, entry),
          version: versionOf(entry),
        },
      }),
    };
  }
}
