/** The resources that documents describe, as the server has them. Lists are read once for each kind and parent. */
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { CommandFailure } from "../../command/index.ts";
import { parentOf } from "../../uid.ts";
import { differencesOf } from "../documents/differences.ts";
import { identityFields, isSingleton } from "../documents/identity.ts";
import { getResource, listResources, methodOf, type Resource } from "../documents/requests.ts";
import type { Session } from "../session/session.ts";
import type { PlannedDocument } from "./plan.ts";

/** Up to so many documents of one kind and parent are looked up one by one, where the list has a filter by name. */
const fewDocuments = 3;

/** What the server has. */
export class ExistingResources {
  readonly #session: Session;
  readonly #lists = new Map<string, Promise<Resource[]>>();
  readonly #counts: Map<string, number>;
  /** The documents by the uid or the identity of what they describe. */
  readonly #claims = new Map<string, PlannedDocument>();

  constructor(session: Session, documents: readonly PlannedDocument[]) {
    this.#session = session;
    const groups = Map.groupBy(documents, ({ resource, parent }) => `${resource.type} ${parent?.text ?? ""}`);
    this.#counts = new Map([...groups].map(([key, { length }]) => [key, length]));
  }

  /**
   * The resource that a document describes, whose references are resolved; undefined if it is to be created.
   * Errors: CommandFailure if several resources fit, or another document describes the same.
   */
  async find(document: PlannedDocument): Promise<Resource | undefined> {
    const { resource, uid, parentUid } = document;
    const known = uid ?? (isSingleton(resource) ? parentUid : undefined);
    const found =
      known === undefined ? await this.#search(document) : await getResource(this.#session, resource, known);
    const identity = [resource.type, parentUid, ...identityFields(resource).map(({ jsonName }) => jsonName)];
    const values = document.isOneOfSeveral ? document.spec.fields : identity.map((key) => document.spec.fields[key]);
    this.#claim(found === undefined ? JSON.stringify([identity, values]) : `${resource.type} ${found.uid}`, document);
    return found;
  }

  #claim(key: string, document: PlannedDocument): void {
    const other = this.#claims.get(key);
    if (other !== undefined) throw new CommandFailure(`it is already described by ${other.place}`, 2);
    this.#claims.set(key, document);
  }

  async #search(document: PlannedDocument): Promise<Resource | undefined> {
    const { resource, spec } = document;
    const identity = new Set(identityFields(resource).map(({ jsonName }) => jsonName));
    const candidates = await this.#list(document);
    const same = candidates.filter((it) =>
      document.name === undefined
        ? isAsNamed(document, it, (jsonName) => identity.has(jsonName))
        : it.name === document.name,
    );
    if (same.length < 2 && !document.isOneOfSeveral) return same[0];
    const equal = same.filter((it) => isAsNamed(document, it, (jsonName) => jsonName in spec.fields));
    if (equal.length === 1 || same.length === 0) return equal[0];
    if (document.isOneOfSeveral && equal.length === 0) return undefined;
    const uids = (equal.length === 0 ? same : equal).map(({ uid }) => uid).join(", ");
    throw new CommandFailure(`it may be any of ${uids}: give the document a uid`, 5);
  }

  /** The resources of the document's kind in its parent. */
  #list({ resource, parent, parentUid, name }: PlannedDocument): Promise<Resource[]> {
    const { field } = methodOf(resource, "List").input;
    const isFew = this.#counts.get(`${resource.type} ${parent?.text ?? ""}`)! <= fewDocuments;
    const filter = isFew && field.name !== undefined && name !== undefined ? { name } : {};
    const key = JSON.stringify([resource.type, parentUid, filter]);
    let list = this.#lists.get(key);
    if (list === undefined) {
      const uidp =
        field.uidp === undefined ? {} : { uidp: parentUid === "" ? { inRoot: true } : { childrenOf: parentUid } };
      list = listResources(this.#session, resource, { ...uidp, ...filter }).then((found) => {
        const children = found.filter(({ uid }) => parentOf(uid) === parentUid);
        if (children.length > 0 || parentUid === "" || field.uidp === undefined) return children;
        // A part of its parent has the uid of it.
        return listResources(this.#session, resource, { uidp: { ids: [parentUid] }, ...filter });
      });
      this.#lists.set(key, list);
    }
    return list;
  }
}

/** Resources in JSON: each may be compared with many documents. */
const jsonForms = new WeakMap<Resource, JsonObject>();

/** Whether a resource has the values that the document gives for some of its fields. */
function isAsNamed(
  { resource: { schema }, spec }: PlannedDocument,
  resource: Resource,
  concerns: (jsonName: string) => boolean,
): boolean {
  let json = jsonForms.get(resource);
  if (json === undefined) {
    json = toJson(schema, resource, { alwaysEmitImplicit: true }) as JsonObject;
    jsonForms.set(resource, json);
  }
  const named = Object.fromEntries(Object.entries(spec.fields).filter(([jsonName]) => concerns(jsonName)));
  return differencesOf(schema, named, json, named).length === 0;
}
