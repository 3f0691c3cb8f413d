/** The documents of an apply, and what each of them depends on. */
import { CommandFailure } from "../../command/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { isUid } from "../../uid.ts";
import { contractCatalog, findResource } from "../catalog/contract.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import { identityFields, parentField } from "../documents/identity.ts";
import { endsWith, namesIn } from "../documents/lookup.ts";
import type { SourceDocument } from "../documents/read.ts";
import { type Source, sourceBelow } from "../documents/source.ts";
import { checkAll, checkSpec, type Reference, readSpec, type Spec } from "../documents/spec.ts";
import { cycleIn } from "./schedule.ts";

/** A document that describes a resource. */
export interface PlannedDocument {
  /** `roles.yaml:12`. */
  readonly place: string;
  /** Whose places end with the label. */
  readonly source: Source;
  readonly resource: ResourceEntry;
  /** `Role viewer in acme`. */
  readonly label: string;
  /** Its own name; undefined for a kind without names. */
  readonly name: string | undefined;
  readonly uid: string | undefined;
  /** A uid or a name; undefined at the root. */
  readonly parent: Reference | undefined;
  /** What the parent became, once it is known. */
  parentUid: string;
  readonly spec: Spec;
  /** The references to resources of other documents. */
  readonly needs: ReadonlyMap<Reference, PlannedDocument>;
  readonly dependencies: readonly PlannedDocument[];
  /** Whether another document of the same parent has the same name or, without names, the same identity. */
  readonly isOneOfSeveral: boolean;
}

const keys = ["kind", "uid", "parent", "spec"];

/**
 * Plans documents: finds their kinds, and orders them by what they refer to. Errors: CommandFailure, before any call.
 */
export async function planDocuments(documents: readonly SourceDocument[]): Promise<PlannedDocument[]> {
  const planned = await checkAll(documents, async (document) => {
    const plan = planDocument(document);
    await checkSpec(plan.resource.schema, plan.spec, sourceBelow(plan.source, ["spec"]), false);
    return plan;
  });
  const identities = Map.groupBy(planned, identityOf);
  const [first, second] =
    [...identities.values()].find(([it, ...more]) => it?.name !== undefined && more.length > 0) ?? [];
  if (first !== undefined && second !== undefined)
    throw new CommandFailure(`${second.source.placeOf([])} is already described by ${first.place}`, 2);
  const paths = new DocumentPaths(planned);
  for (const document of planned) {
    const needs = new Map<Reference, PlannedDocument>();
    for (const reference of [document.parent ?? [], document.spec.references].flat()) {
      if (isUid(reference.text)) continue;
      const found = paths.find(reference).filter((other) => other !== document);
      if (found.length > 1)
        throw new CommandFailure(
          `${document.source.placeOf(reference.path)}: ${reference.text} may be any of ${found.map(({ place }) => place).join(", ")}: name it by its path`,
          2,
        );
      if (found[0] !== undefined) needs.set(reference, found[0]);
    }
    const isOneOfSeveral = identities.get(identityOf(document))!.length > 1;
    Object.assign(document, { needs, dependencies: [...new Set(needs.values())], isOneOfSeveral });
  }
  const cycle = cycleIn(planned, ({ dependencies }) => dependencies);
  if (cycle !== undefined)
    throw new CommandFailure(`documents refer to each other: ${cycle.map(({ place }) => place).join(", ")}`, 2);
  return planned;
}

/** Documents by the paths that they give to their resources. */
class DocumentPaths {
  readonly #byName: ReadonlyMap<string, readonly PlannedDocument[]>;
  readonly #paths = new Map<PlannedDocument, string>();

  constructor(documents: readonly PlannedDocument[]) {
    const named = documents.filter(({ name }) => name !== undefined);
    this.#byName = Map.groupBy(named, ({ resource, name }) => `${resource.type} ${name}`);
  }

  /** The documents of the resources that a reference may name. */
  find({ type, text }: Pick<Reference, "type" | "text">): readonly PlannedDocument[] {
    return namesIn(text).flatMap((name) =>
      (this.#byName.get(`${type} ${name}`) ?? []).filter(
        (document) => name === text || endsWith(this.#pathOf(document), text),
      ),
    );
  }

  /** The path of a document: its name after the path that its parent has or, if it is not a document, is called by. */
  #pathOf(document: PlannedDocument): string {
    const { parent, name } = document;
    const known = this.#paths.get(document);
    if (known !== undefined) return known;
    this.#paths.set(document, `${parent?.text ?? ""}/${name}`); // while it is looked for: parents may form a cycle
    const [found, ...others] = parent === undefined || isUid(parent.text) ? [] : this.find(parent);
    const path = `${found === undefined || others.length > 0 ? (parent?.text ?? "") : this.#pathOf(found)}/${name}`;
    this.#paths.set(document, path);
    return path;
  }
}

function planDocument({ value, source: plain }: SourceDocument): PlannedDocument {
  const place = plain.placeOf([]);
  const unknown = Object.keys(value).find((key) => !keys.includes(key));
  if (unknown !== undefined)
    throw new CommandFailure(
      `${plain.placeOf([unknown])}: a document has kind, parent, uid and spec, not ${unknown}${isResource(value) ? `; ${printDocuments}` : ""}`,
      2,
    );
  const resource = resourceOf(value, plain);
  const read = readSpec(resource.schema, value.spec ?? {}, sourceBelow(plain, ["spec"]));
  const spec = { ...read, references: read.references.map((it) => ({ ...it, path: ["spec", ...it.path] })) };
  const uid = textOf(value, "uid", plain);
  const parent = parentOf(resource, textOf(value, "parent", plain), plain);
  const { name: nameField } = resource.schema.field;
  const name = nameField === undefined ? undefined : ((spec.fields[nameField.jsonName] as string | undefined) ?? "");
  if (name === "" && uid === undefined) throw new CommandFailure(`${plain.placeOf(["spec"])}: spec.name is missing`, 2);
  const identity = identityFields(resource).flatMap(({ jsonName }) => spec.fields[jsonName] ?? []);
  const where = parent === undefined ? "" : ` in ${parent.text}`;
  const label = `${resource.kind} ${identity.length > 0 ? `${identity.join(", ")}${where}` : `of ${parent?.text ?? uid}`}`;
  const unplanned = { parentUid: "", needs: new Map(), dependencies: [], isOneOfSeveral: false };
  const source = sourceBelow(plain, [], label);
  return { place, source, resource, label, name, uid, parent, spec, ...unplanned };
}

/** What to do with resources as the API has them. */
const printDocuments = "this is a resource of the API: `-o documents` of get and list prints documents";

/** Whether a document is a resource as the API has it. */
function isResource(value: SourceDocument["value"]): boolean {
  return "uid" in value && !("kind" in value && "spec" in value);
}

function resourceOf(value: SourceDocument["value"], source: Source): ResourceEntry {
  const { kind } = value;
  const place = source.placeOf(["kind"]);
  const kinds = contractCatalog()
    .resources.filter(({ methods }) => methods.Create ?? methods.Update)
    .map((resource) => resource.kind);
  if (typeof kind !== "string") throw new CommandFailure(`${place}: kind is missing: one of ${kinds.join(", ")}`, 2);
  const resource = findResource(kind);
  if (resource !== undefined && kinds.includes(resource.kind)) return resource;
  const problem = resource === undefined ? "no such kind" : "the API cannot create or change them";
  throw new CommandFailure(`${place}: kind ${kind}: ${problem}${suggestion(kind, kinds)}`, 2);
}

/** The parent of a document as a reference. */
function parentOf(resource: ResourceEntry, text: string | undefined, source: Source): Reference | undefined {
  const expected = parentField(resource);
  if (text !== undefined && text !== "") {
    if (expected !== undefined) return { ...expected, text, path: ["parent"], resolve: () => {} };
    throw new CommandFailure(`${source.placeOf(["parent"])}: ${resource.plural} have no parent`, 2);
  }
  return undefined;
}

function textOf(value: SourceDocument["value"], key: string, source: Source): string | undefined {
  const text = value[key] ?? undefined;
  if (text === undefined || typeof text === "string") return text;
  throw new CommandFailure(`${source.placeOf([key])}: ${key} must be a string`, 2);
}

function identityOf({ resource, uid, parent, spec }: PlannedDocument): string {
  const values = identityFields(resource).map(({ jsonName }) => spec.fields[jsonName] ?? null);
  return JSON.stringify([resource.type, uid ?? [parent?.text ?? "", values]]);
}
