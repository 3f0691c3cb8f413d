/** How a resource differs from what a document says. */

import { isDeepStrictEqual } from "node:util";
import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { FieldBehavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { is_set } from "../../../gen/platform/annotations/annotations_pb.ts";
import { getOption } from "../../annotations.ts";
import { hasBehavior } from "./spec.ts";
import { isNested } from "./types.ts";

/** One field whose value differs. */
export interface Difference {
  /** In proto names, as in a field mask: `claim_match.subject`. */
  readonly path: string;
  /** As in JSON; undefined where there is none. */
  readonly before: JsonValue | undefined;
  readonly after?: JsonValue | undefined;
  /** Whether the field cannot change after creation. */
  readonly isImmutable?: boolean;
  /** Whether another member of its oneof replaces it. An update names only that one. */
  readonly isReplaced?: boolean;
}

/**
 * The differences in the fields that a document names. Fields that the server never returns are compared only if
 * `comparesInput`, the etag never. Sets are equal in any order.
 * @param named the fields that the document names.
 * @param before the resource in JSON, with fields that have no value.
 * @param after the document in JSON, with fields that have no value.
 */
export function differencesOf(
  schema: DescMessage,
  named: JsonObject,
  before: JsonObject,
  after: JsonObject,
  options: { readonly comparesInput?: boolean; readonly above?: string } = {},
): Difference[] {
  const { comparesInput = false, above = "" } = options;
  return schema.fields.flatMap((field) => {
    const { name, jsonName } = field;
    const wanted = named[jsonName];
    if (wanted === undefined || name === "etag") return [];
    if (!comparesInput && hasBehavior(field, FieldBehavior.INPUT_ONLY)) return [];
    const [old, now] = [before[jsonName], after[jsonName]];
    if (isNested(field, wanted) && Object.keys(wanted).length > 0 && isNested(field, old) && isNested(field, now))
      return differencesOf(field.message!, wanted as JsonObject, old as JsonObject, now as JsonObject, {
        comparesInput,
        above: `${above}${name}.`,
      });
    if (isDeepStrictEqual(comparable(field, old), comparable(field, now))) return [];
    const isImmutable = hasBehavior(field, FieldBehavior.IMMUTABLE);
    const replaced = (field.oneof?.fields ?? []).filter((other) => other !== field && other.jsonName in before);
    return [
      { path: `${above}${name}`, before: old, after: now, isImmutable },
      ...replaced.map((other) => ({ path: `${above}${other.name}`, before: before[other.jsonName], isReplaced: true })),
    ];
  });
}

/** The field mask of an update. */
export function pathsOf(differences: readonly Difference[]): string[] {
  return differences.filter(({ isReplaced }) => !isReplaced).map(({ path }) => path);
}

/** What a resource becomes by the fields that a document names, in JSON. A member of a oneof replaces the other. */
export function mergedFields(schema: DescMessage, before: JsonObject, named: JsonObject): JsonObject {
  const result = { ...before };
  for (const field of schema.fields) {
    const { jsonName, oneof } = field;
    const [wanted, old] = [named[jsonName], before[jsonName]];
    if (wanted === undefined) continue;
    for (const other of oneof?.fields ?? []) if (wanted !== null) delete result[other.jsonName];
    const isPart = isNested(field, wanted) && Object.keys(wanted).length > 0 && isNested(field, old);
    result[jsonName] = isPart ? mergedFields(field.message!, old as JsonObject, wanted as JsonObject) : wanted;
  }
  return result;
}

/** Whether the field is a list without an order. */
export function isSet(field: DescField): boolean {
  return field.fieldKind === "list" && getOption(field, is_set);
}

function comparable(field: DescField, value: JsonValue | undefined): unknown {
  if (!isSet(field) || !Array.isArray(value)) return value ?? null;
  return [...new Set(value.map((item) => JSON.stringify(item)))].sort();
}
