/** What the checks have created, and how it is deleted again. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { contractCatalog } from "../catalog/contract.ts";
import { resourceField } from "../documents/requests.ts";
import { methodNamed, type Outcome } from "./calls.ts";

/** Makes one call with the token, over a protocol that serves it. */
type Call = (method: string, request: JsonObject) => Promise<Outcome>;

interface Resource {
  /** `Repo`. */
  readonly kind: string;
  readonly uid: string;
}

/** A resource that may have been created: no answer said so, or that it was not. */
interface Doubtful {
  readonly kind: string;
  readonly parent: string;
  /** undefined for a kind without names. */
  readonly name: string | undefined;
}

/** Codes of calls whose effect is not known. */
const doubtful = new Set([Code.Canceled, Code.Unknown, Code.DeadlineExceeded, Code.Internal, Code.Unavailable]);

/** Keeps what was created. */
export class Created {
  readonly #resources: Resource[] = [];
  readonly #doubtful: Doubtful[] = [];

  /** Takes every call. */
  add(method: string, request: JsonObject, outcome: Outcome): void {
    const created = contractCatalog().resources.find(({ methods }) => methods.Create?.name === method);
    if (created === undefined) return;
    const { kind, methods, schema } = created;
    if ("message" in outcome) this.#resources.push({ kind, uid: String(outcome.message.uid) });
    else if (doubtful.has(outcome.status.code)) {
      const { name } = (request[resourceField(methods.Create!, schema).jsonName] ?? {}) as JsonObject;
      this.#doubtful.push({
        kind,
        parent: String(request.parent ?? ""),
        name: name === undefined ? undefined : String(name),
      });
    }
  }

  /**
   * Deletes all of it, the newest first. Returns what is left, or may be, each with the reason; what is below a group
   * that is left goes with it.
   */
  async delete(call: Call): Promise<string[]> {
    const found = await Promise.all(this.#doubtful.map((it) => this.#find(it, call)));
    const gone = new Set<string>();
    const left = new Map<Resource, string>();
    for (const resource of this.#resources.reverse()) {
      const reason = await remove(resource, call);
      if (reason !== undefined) left.set(resource, reason);
      else if (resource.kind === "Group") gone.add(resource.uid);
    }
    for (const [resource] of left) {
      const reason = await remove(resource, call); // what was below it may be deleted by now
      if (reason === undefined) left.delete(resource);
    }
    const groups = [...left.keys()].filter(({ kind }) => kind === "Group").map(({ uid }) => uid);
    const isBelow = (uid: string) => [...gone, ...groups].some((group) => uid.startsWith(`${group}/`));
    return [
      ...[...left].filter(([{ uid }]) => !isBelow(uid)).map(([{ kind, uid }, reason]) => `${kind} ${uid}: ${reason}`),
      ...found.filter((it) => it !== undefined && !isBelow(`${it.parent}/`)).map((it) => told(it!)),
    ];
  }

  /** Adds a resource that was created nevertheless. Returns what is not known to be absent. */
  async #find(it: Doubtful, call: Call): Promise<Doubtful | undefined> {
    const { kind, parent, name } = it;
    const list = contractCatalog().resources.find((resource) => resource.kind === kind)?.methods.List;
    if (name === undefined || list?.input.field.name === undefined || list.input.field.uidp === undefined) return it;
    const outcome = await call(list.name, { name, uidp: { childrenOf: parent } });
    if ("status" in outcome) return it;
    const items = Object.values(outcome.message).find(Array.isArray) as JsonObject[] | undefined;
    for (const { uid } of items ?? []) this.#resources.push({ kind, uid: String(uid) });
    return undefined;
  }
}

/** Deletes a resource. Returns why it could not be deleted. */
async function remove({ kind, uid }: Resource, call: Call): Promise<string | undefined> {
  const method = `Delete${kind}`;
  const hasForce = methodNamed(method).input.field.force !== undefined;
  const outcome = await call(method, { uid, ...(hasForce && { force: true }) });
  return "message" in outcome || outcome.status.code === Code.NotFound ? undefined : outcome.status.message;
}

function told({ kind, parent, name }: Doubtful): string {
  return `${kind} ${name ?? "without a name"} below ${parent}: it may have been created, no answer came`;
}
