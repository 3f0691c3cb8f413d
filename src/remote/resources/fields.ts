/** Options of the fields of a resource, for commands that write. */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import { FieldBehavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { CommandFailure } from "../../command-failure.ts";
import { listedValues } from "../../violations.ts";
import { kebab, type ResourceEntry } from "../catalog/resources.ts";
import { commentOf } from "../documents/comments.ts";
import { uidOf } from "../documents/lookup.ts";
import { parseDocuments, readDocuments, type SourceDocument } from "../documents/read.ts";
import { hasBehavior, readSpec, type Spec } from "../documents/spec.ts";
import type { Session } from "../session/session.ts";

/** The fields that a client sets. */
export function settableFields(schema: DescMessage): DescField[] {
  return schema.fields.filter((field) => !hasBehavior(field, FieldBehavior.OUTPUT_ONLY));
}

/** Adds an option for each field that a client sets. */
export function addFieldOptions(command: Command, schema: DescMessage): Command {
  for (const field of settableFields(schema)) {
    const [summary = ""] = commentOf(field).split(/\.(?:\s|$)/);
    const isList = field.fieldKind === "list";
    const flag = `--${kebab(field.name)} <${isText(field) ? "TEXT" : field.message ? "YAML" : "VALUE"}${isList ? "..." : ""}>`;
    command.addOption(new Option(flag, summary.replaceAll("\n", " ")));
  }
  return command;
}

/** The fields of a file, replaced by those of the options. Errors: CommandFailure that names the option. */
export async function fieldsOf(
  resource: ResourceEntry,
  options: Readonly<Record<string, unknown>>,
  document: SourceDocument | undefined,
): Promise<Spec> {
  const fields: JsonObject = {};
  for (const field of settableFields(resource.schema)) {
    const value = options[optionName(field)];
    if (value !== undefined) fields[field.jsonName] = await jsonOf(field, value as string | string[]);
  }
  const { value = {}, place = "" } = document ?? {};
  const spec = "kind" in value && "spec" in value ? value.spec : value;
  const below = place === "" ? { fields: {}, references: [], ignored: [] } : readSpec(resource.schema, spec, place);
  return readSpec(resource.schema, { ...below.fields, ...fields }, "options");
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

/** `roleUid` for `role_uid`, as commander names it. */
function optionName(field: DescField): string {
  return kebab(field.name).replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

async function jsonOf(field: DescField, value: string | string[]): Promise<JsonValue> {
  if (Array.isArray(value)) return Promise.all(value.map(async (item) => (await jsonOf(field, item)) as JsonValue));
  if (field.fieldKind !== "map" && field.enum !== undefined) return enumValue(field.enum, value, field);
  if (isText(field)) return value;
  const [document] = await parseDocuments(`value: ${value}`, `--${kebab(field.name)}`);
  if (document?.value.value === undefined) throw new CommandFailure(`--${kebab(field.name)}: no value`, 2);
  return document.value.value as JsonValue;
}

/** The name of a value, of which the prefix that all names share may be left out: `BASE` for `CATALOG_TIER_BASE`. */
function enumValue({ values, sharedPrefix = "" }: DescEnum, text: string, field: DescField): string {
  const wanted = text.toUpperCase().replaceAll("-", "_");
  const found = values.find(({ name }) => name === wanted || name === `${sharedPrefix.toUpperCase()}${wanted}`);
  if (found !== undefined) return found.name;
  const names = values.map(({ name }) => name);
  throw new CommandFailure(`--${kebab(field.name)} ${text}: not one of ${listedValues(names)}`, 2);
}

/** Whether the value is the text itself: of strings, bytes, enums, times and durations. */
function isText(field: DescField): boolean {
  const scalar = field.fieldKind === "map" ? undefined : field.scalar;
  return (
    scalar === ScalarType.STRING ||
    scalar === ScalarType.BYTES ||
    (field.fieldKind !== "map" && field.enum !== undefined) ||
    /^google\.protobuf\.(Timestamp|Duration|FieldMask)$/.test(field.message?.typeName ?? "")
  );
}
