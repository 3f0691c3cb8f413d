/** The documents of an apply, and what each of them depends on. */
import { type DescField, getOption } from "@bufbuild/protobuf";
import { FieldBehavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { resource_reference } from "../../../gen/google/api/resource_pb.ts";
import { CommandFailure } from "../../command/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { isUid } from "../../uid.ts";
import { contractCatalog, findResource } from "../catalog/contract.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import type { SourceDocument } from "../documents/read.ts";
import { checkAll, checkSpec, hasBehavior, type Reference, readSpec, type Spec } from "../documents/spec.ts";
import { cycleIn } from "./schedule.ts";

/** A document that describes a resource. */
export interface PlannedDocument {
  readonly place: string;
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

/** Plans documents: finds their kinds, and orders them by what they refer to. Errors: CommandFailure, before any call. */
export async function planDocuments(documents: readonly SourceDocument[]): Promise<PlannedDocument[]> {
  const planned = await checkAll(documents, async (document) => {
    const plan = planDocument(document);
    await checkSpec(plan.resource.schema, plan.spec, `${plan.place}: ${plan.label}`, false);
    return plan;
  });
  const identities = Map.groupBy(planned, identityOf);
  const [first, second] =
    [...identities.values()].find(([it, ...more]) => it?.name !== undefined && more.length > 0) ?? [];
  if (first !== undefined && second !== undefined)
    throw new CommandFailure(`${second.place}: ${second.label} is already described by ${first.place}`, 2);
  const named = Map.groupBy(
    planned.filter(({ name }) => name !== undefined),
    ({ resource, name }) => `${resource.type} ${name}`,
  );
  for (const document of planned) {
    const needs = new Map<Reference, PlannedDocument>();
    for (const reference of [document.parent ?? [], document.spec.references].flat()) {
      if (isUid(reference.text)) continue;
      const found = named.get(`${reference.type} ${reference.text}`)?.filter((other) => other !== document) ?? [];
      if (found.length > 1)
        throw new CommandFailure(
          `${document.place}: ${reference.text} may be any of ${found.map(({ place }) => place).join(", ")}: use its uid`,
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

/** The fields that tell resources of one parent apart: the name or, without names, all that are required or fixed. */
export function identityFields({ schema }: ResourceEntry): readonly DescField[] {
  const { name } = schema.field;
  if (name !== undefined) return [name];
  const identifies = [FieldBehavior.REQUIRED, FieldBehavior.IMMUTABLE];
  const hidden = [FieldBehavior.INPUT_ONLY, FieldBehavior.OUTPUT_ONLY];
  return schema.fields.filter(
    (field) =>
      identifies.some((behavior) => hasBehavior(field, behavior)) &&
      !hidden.some((behavior) => hasBehavior(field, behavior)),
  );
}

/** Whether there is one such resource for each parent, whose uid it has (AIP-156). */
export function isSingleton(resource: ResourceEntry): boolean {
  const type = parentField(resource, "Get", "uid")?.type;
  return resource.methods.Create === undefined && type !== undefined && type !== resource.type;
}

function planDocument({ value, place, written }: SourceDocument): PlannedDocument {
  const unknown = Object.keys(value).find((key) => !keys.includes(key));
  if (unknown !== undefined)
    throw new CommandFailure(`${place}: a document has kind, parent, uid and spec, not ${unknown}`, 2);
  const resource = resourceOf(value.kind, place);
  const spec = readSpec(resource.schema, value.spec ?? {}, place, (path) => written(["spec", ...path]));
  const uid = textOf(value, "uid", place);
  const parent = parentOf(resource, textOf(value, "parent", place), place);
  const { name: nameField } = resource.schema.field;
  const name = nameField === undefined ? undefined : ((spec.fields[nameField.jsonName] as string | undefined) ?? "");
  if (name === "" && uid === undefined) throw new CommandFailure(`${place}: spec.name is missing`, 2);
  const identity = identityFields(resource).flatMap(({ jsonName }) => spec.fields[jsonName] ?? []);
  const where = parent === undefined ? "" : ` in ${parent.text}`;
  const label = `${resource.kind} ${identity.length > 0 ? `${identity.join(", ")}${where}` : `of ${parent?.text ?? uid}`}`;
  const unplanned = { parentUid: "", needs: new Map(), dependencies: [], isOneOfSeveral: false };
  return { place, resource, label, name, uid, parent, spec, ...unplanned };
}

function resourceOf(kind: unknown, place: string): ResourceEntry {
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
function parentOf(resource: ResourceEntry, text: string | undefined, place: string): Reference | undefined {
  const expected = isSingleton(resource)
    ? parentField(resource, "Get", "uid")
    : parentField(resource, "Create", "parent");
  if (text !== undefined && text !== "") {
    if (expected !== undefined) return { ...expected, text, resolve: () => {} };
    throw new CommandFailure(`${place}: ${resource.plural} have no parent`, 2);
  }
  return undefined;
}

function parentField(resource: ResourceEntry, verb: "Get" | "Create", name: string) {
  const field = resource.methods[verb]?.input.fields.find((it) => it.name === name);
  return field === undefined ? undefined : { field, type: getOption(field, resource_reference).type };
}

function textOf(value: SourceDocument["value"], key: string, place: string): string | undefined {
  const text = value[key] ?? undefined;
  if (text === undefined || typeof text === "string") return text;
  throw new CommandFailure(`${place}: ${key} must be a string`, 2);
}

function identityOf({ resource, uid, parent, spec }: PlannedDocument): string {
  const values = identityFields(resource).map(({ jsonName }) => spec.fields[jsonName] ?? null);
  return JSON.stringify([resource.type, uid ?? [parent?.text ?? "", values]]);
}
