/** Resources as documents: what `platform apply` takes, made of what the server returns. */
import { type DescMessage, isFieldSet, type JsonObject, type Message, toJson } from "@bufbuild/protobuf";
import { FieldBehavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { isSameServer } from "../../client-node/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import { parentOf } from "../../uid.ts";
import { contractCatalog, findType, parentKind } from "../catalog/contract.ts";
import { hasNames, type ListedKind, type ResourceEntry, uidType } from "../catalog/resources.ts";
import { fieldValue, messagesIn } from "../print/cells.ts";
import { printDocuments } from "../print/print.ts";
import { isSecret } from "../print/secrets.ts";
import { yamlOf } from "../print/yaml.ts";
import type { Session } from "../session/session.ts";
import { identityFields, isSingleton } from "./identity.ts";
import { Paths } from "./paths.ts";
import type { Resource } from "./requests.ts";
import { onePlace } from "./source.ts";
import { hasBehavior, type Reference, readSpec, type Spec } from "./spec.ts";

/** Resources of one kind. */
export interface Listed {
  readonly resource: ResourceEntry;
  readonly items: readonly Resource[];
}

/** The value of `--output` for documents. */
export const documentsFormat = "documents";

/** Prints resources of one kind as documents. */
export async function printAsDocuments(
  session: Session,
  resource: ResourceEntry,
  items: AsyncIterable<Message>,
): Promise<void> {
  const listed: Resource[] = [];
  for await (const item of items) listed.push(item as Resource);
  await printDocuments(await documentTexts(session, [{ resource, items: listed }]));
}

/** The kind as a resource that documents describe. Errors: CommandFailure, for a kind that no document describes. */
export function requireDocuments(kind: ListedKind): ResourceEntry {
  const { plural, methods } = kind;
  if (methods.Create === undefined && methods.Update === undefined)
    throw new CommandFailure(`-o documents: ${plural} have none: the API cannot create or change them`, 2);
  return kind as ResourceEntry; // nothing else has these methods
}

/**
 * The documents of resources, as YAML. Parents and references are paths, or uids where there is none. What the server
 * sets is left out; comments mention what it does not return. A resource that cannot be created without that is a
 * comment as a whole.
 * @param isSorted whether those of one kind are in the order of their paths, instead of that of the server.
 */
export async function documentTexts(session: Session, lists: readonly Listed[], isSorted = false): Promise<string[]> {
  const paths = Paths.of(session);
  for (const { resource, items } of lists) {
    paths.note(resource, items);
    const kind = findType(uidType(resource)) ?? resource;
    await paths.load(
      kind,
      items.map(({ uid }) => uid),
    );
  }
  const drafts = lists.flatMap(({ resource, items }) => items.map((item) => draftOf(paths, resource, item)));
  await loadReferences(paths, drafts);
  const shared = sharedPaths(paths, lists);
  const nameOf = (type: string, uid: string) => {
    const kind = findType(type);
    const path = kind && paths.pathOf(kind, uid);
    return path === undefined || shared.has(`${type} ${path}`) || isUser(session, paths, kind!, uid) ? uid : path;
  };
  for (const { spec } of drafts) for (const { type, text, resolve } of spec.references) resolve(nameOf(type, text));
  const identities = Map.groupBy(drafts, identityOf);
  const written = await Promise.all(
    drafts.map(async (draft) => {
      const { resource, item, parent } = draft;
      const isOneOfSeveral = identities.get(identityOf(draft))!.length > 1;
      const text = await textOf(draft, parent && nameOf(parent.type, parent.uid), isOneOfSeveral);
      const key = paths.pathOf(resource, item.uid) ?? text.replace(/^#.*\n/gm, "");
      return { resource, text, key };
    }),
  );
  if (isSorted) {
    const kinds = lists.map(({ resource }) => resource);
    const orderOf = ({ resource }: { readonly resource: ResourceEntry }) => kinds.indexOf(resource);
    written.sort((a, b) => orderOf(a) - orderOf(b) || (a.key < b.key ? -1 : Number(a.key > b.key)));
  }
  return written.map(({ text }) => text);
}

/** A document before references have names. */
interface Draft {
  readonly resource: ResourceEntry;
  readonly item: Resource;
  /** undefined at the root. */
  readonly parent: { readonly type: string; readonly uid: string } | undefined;
  readonly spec: Spec;
}

function draftOf(paths: Paths, resource: ResourceEntry, item: Resource): Draft {
  const { schema } = resource;
  const spec = readSpec(schema, toJson(schema, item), onePlace(`${resource.singular} ${item.uid}`));
  delete spec.fields.etag;
  const uid = isSingleton(resource) ? item.uid : paths.parentOf(resource, item.uid);
  const type = isSingleton(resource) ? uidType(resource) : (parentKind(resource)?.type ?? "");
  return { resource, item, spec, parent: uid === "" ? undefined : { type, uid } };
}

async function loadReferences(paths: Paths, drafts: readonly Draft[]): Promise<void> {
  const references = drafts.flatMap(({ spec }) => spec.references);
  for (const [type, found] of Map.groupBy(references, ({ type }: Reference) => type)) {
    const kind = findType(type);
    if (kind === undefined || !hasNames(kind)) continue;
    await paths.load(
      kind,
      found.map(({ text }) => text),
    );
  }
}

/** The paths that several of the resources have, after their types. */
function sharedPaths(paths: Paths, lists: readonly Listed[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const { resource, items } of lists)
    for (const { uid } of items) {
      const key = `${resource.type} ${paths.pathOf(resource, uid)}`;
      if (seen.has(key)) shared.add(key);
      seen.add(key);
    }
  return shared;
}

/**
 * Whether a resource is a user: its uid follows from issuer and subject, and is the same on every server; its name is
 * one that others may have. The administrator, whose issuer is the server, is another user on another server.
 */
function isUser(session: Session, paths: Paths, kind: ResourceEntry, uid: string): boolean {
  const resource = paths.find(kind, uid);
  if (resource === undefined || parentOf(uid) !== "") return false;
  const { claimMatch } = toJson(kind.schema, resource) as { readonly claimMatch?: { readonly issuer?: string } };
  return claimMatch?.issuer !== undefined && !isSameServer(claimMatch.issuer, session.server);
}

/** Equal for documents that a server could not distinguish. */
function identityOf({ resource, parent, spec }: Draft): string {
  const { name } = resource.schema.field;
  const values =
    name === undefined ? spec.fields : identityFields(resource).map(({ jsonName }) => spec.fields[jsonName]);
  return JSON.stringify([resource.type, parent?.uid, values]);
}

async function textOf(
  { resource, item, spec }: Draft,
  parent: string | undefined,
  isOneOfSeveral: boolean,
): Promise<string> {
  const document: JsonObject = {
    kind: resource.kind,
    ...(isOneOfSeveral && { uid: item.uid }),
    ...(parent !== undefined && { parent }),
    spec: spec.fields,
  };
  const required = resource.schema.fields.filter(
    (field) =>
      hasBehavior(field, FieldBehavior.REQUIRED) &&
      (hasBehavior(field, FieldBehavior.INPUT_ONLY) || !(isSingleton(resource) || isFieldSet(item, field))),
  );
  const missing = required.map(({ name }) => name);
  const comments = [
    ...(isOneOfSeveral ? [`Another ${resource.kind} is like it: only their uids differ.`] : []),
    ...(missing.length > 0
      ? [`The server returns no ${missing.join(", ")}, without which it cannot be created.`]
      : lostValues(resource, item)),
  ];
  const yaml = (await yamlOf(document)).trimEnd();
  return [
    ...comments.map((line) => `# ${printable(line)}`),
    missing.length > 0 ? yaml.replace(/^/gm, "# ") : yaml,
  ].join("\n");
}

/** What a resource that is created from a document may lack. */
function lostValues(resource: ResourceEntry, item: Resource): string[] {
  const hidden = hiddenFields(resource.schema, item);
  const settings = contractCatalog().resources.filter(
    (other) => isSingleton(other) && uidType(other) === resource.type && !hasNames(resource),
  );
  return [
    ...(hidden.input.length > 0
      ? [`The server does not return ${hidden.input.join(", ")}: add it to create another.`]
      : []),
    ...(hidden.output.length > 0 ? [`Another one that is created gets its own ${hidden.output.join(", ")}.`] : []),
    ...settings.map(({ plural }) => `Its ${plural.replaceAll("-", " ")} are not here.`),
  ];
}

/** The fields without values that only a caller, and those that only an answer to a creation has. */
function hiddenFields(schema: DescMessage, message: Message): { input: string[]; output: string[] } {
  const [input, output]: [string[], string[]] = [[], []];
  for (const field of schema.fields) {
    if (hasBehavior(field, FieldBehavior.INPUT_ONLY)) input.push(field.name);
    else if (isSecret(field) && !fieldValue(field, message)) output.push(field.name);
    for (const inner of messagesIn(field, message)) {
      const below = hiddenFields(field.message!, inner);
      input.push(...below.input.map((name) => `${field.name}.${name}`));
      output.push(...below.output.map((name) => `${field.name}.${name}`));
    }
  }
  return { input, output };
}
