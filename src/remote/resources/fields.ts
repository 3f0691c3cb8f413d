/** Fields of a resource, from options and files, for commands that write. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { FieldBehavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { type FieldFlag, fieldsOf } from "../catalog/flags.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import { uidOf } from "../documents/lookup.ts";
import { readDocuments, type SourceDocument } from "../documents/read.ts";
import { onePlace, type Source, sourceBelow } from "../documents/source.ts";
import { hasBehavior, readSpec, type Spec } from "../documents/spec.ts";
import type { Session } from "../session/session.ts";

/** The standard field that guards an update against another one (AIP-154); a new resource has no value to give. */
export const etagField = "etag";

/** The fields whose values a client chooses. */
export function settableFields(schema: DescMessage): DescField[] {
  return schema.fields.filter((field) => field.name !== etagField && !hasBehavior(field, FieldBehavior.OUTPUT_ONLY));
}

/** The fields of a file, replaced by those of the options. Errors: CommandFailure that names the option. */
export function specOf(
  { schema }: ResourceEntry,
  command: Command,
  flags: readonly FieldFlag[],
  document: SourceDocument | undefined,
): Spec {
  const below = document === undefined ? {} : readSpec(schema, specIn(document), sourceOf(document)).fields;
  return readSpec(schema, { ...below, ...fieldsOf(command, flags) }, onePlace("options"));
}

/** The fields of a document, which has them alone or in its `spec`. */
function specIn({ value }: SourceDocument): unknown {
  return hasSpec(value) ? value.spec : value;
}

/** Where the fields of a document are; those of options name themselves. */
export function sourceOf(document: SourceDocument | undefined): Source {
  if (document === undefined) return onePlace("");
  return hasSpec(document.value) ? sourceBelow(document.source, ["spec"]) : document.source;
}

function hasSpec(value: SourceDocument["value"]): boolean {
  return "kind" in value && "spec" in value;
}

/** The documents of `-f`; one without fields if there is no such option. */
export async function documentsOf(filename: string | undefined): Promise<(SourceDocument | undefined)[]> {
  return filename === undefined ? [undefined] : await readDocuments([filename]);
}

/** Puts uids in the place of names. */
export async function resolveReferences(session: Session, { references }: Spec): Promise<void> {
  await Promise.all(
    references.map(async (reference) => reference.resolve(await uidOf(session, reference.type, reference.text))),
  );
}
