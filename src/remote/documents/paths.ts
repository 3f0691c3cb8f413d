/** Paths of resources: their names, each below that of its parent, such as `/acme/team/nginx`. */
import { ancestorsOf, parentOf } from "../../uid.ts";
import { parentKind } from "../catalog/contract.ts";
import { hasNames, type ResourceEntry } from "../catalog/resources.ts";
import type { Session } from "../session/session.ts";
import { listResources, type Resource } from "./requests.ts";

/** The uids of one request. */
const maxIds = 200;

const ofSessions = new WeakMap<Session, Paths>();

/** The paths of the resources of a server, as far as the caller may list what is on them. */
export class Paths {
  readonly #session: Session;
  /** By type and uid; undefined for what may not be listed. */
  readonly #resources = new Map<string, Resource | undefined>();
  #loaded: Promise<void> = Promise.resolve();

  private constructor(session: Session) {
    this.#session = session;
  }

  /** Those of a session, which reads each resource once. */
  static of(session: Session): Paths {
    const paths = ofSessions.get(session) ?? new Paths(session);
    ofSessions.set(session, paths);
    return paths;
  }

  /** Takes resources that are read already. */
  note(kind: ResourceEntry, resources: readonly Resource[]): void {
    for (const resource of resources) this.#resources.set(keyOf(kind, resource.uid), resource);
  }

  /** A resource that is read; undefined if it may not be listed. */
  find(kind: ResourceEntry, uid: string): Resource | undefined {
    return this.#resources.get(keyOf(kind, uid));
  }

  /** Reads resources of a kind and all that is above them: of several calls one after the other. */
  load(kind: ResourceEntry, uids: readonly string[]): Promise<void> {
    const loaded = this.#loaded.then(() => this.#load(kind, uids));
    this.#loaded = loaded.catch(() => {});
    return loaded;
  }

  /** The uid of the parent of a resource that is read; that of the resource itself if it is a part of its parent. */
  parentOf(kind: ResourceEntry, uid: string): string {
    const next = parentKind(kind);
    return next !== undefined && next !== kind && this.find(next, uid) !== undefined ? uid : parentOf(uid);
  }

  /**
   * `/acme/team/nginx`; without the first `/` if the name of something above is not known. undefined without a name.
   * @param above the uid of something above, below which the path begins, without `/`.
   */
  pathOf(kind: ResourceEntry, uid: string, above = ""): string | undefined {
    let [path, it, at]: [string, ResourceEntry | undefined, string] = ["", kind, uid];
    do {
      const name = it && this.find(it, at)?.name;
      if (typeof name !== "string" || name === "") return above === "" ? path.slice(1) || undefined : undefined;
      path = `/${name}${path}`;
      at = this.parentOf(it!, at);
      it = parentKind(it!);
    } while (at !== above && at !== "");
    if (at !== above) return undefined;
    return above === "" ? path : path.slice(1);
  }

  async #load(kind: ResourceEntry, uids: readonly string[]): Promise<void> {
    const next = parentKind(kind);
    if (next === kind) return this.#read(kind, [...uids.flatMap(ancestorsOf), ...uids]);
    if (hasNames(kind)) await this.#read(kind, uids);
    const [first] = uids;
    if (next === undefined || !hasNames(next) || first === undefined) return;
    await this.#read(next, [...uids.map(parentOf), first]);
    await this.#load(
      next,
      uids.map(this.find(next, first) === undefined ? parentOf : (uid) => uid).filter((uid) => uid !== ""),
    );
  }

  async #read(kind: ResourceEntry, uids: readonly string[]): Promise<void> {
    const ids = [...new Set(uids)].filter((uid) => uid !== "" && !this.#resources.has(keyOf(kind, uid)));
    for (let i = 0; i < ids.length; i += maxIds)
      this.note(kind, await listResources(this.#session, kind, { uidp: { ids: ids.slice(i, i + maxIds) } }));
    for (const id of ids) this.#resources.set(keyOf(kind, id), this.find(kind, id));
  }
}

function keyOf({ type }: ResourceEntry, uid: string): string {
  return `${type} ${uid}`;
}
