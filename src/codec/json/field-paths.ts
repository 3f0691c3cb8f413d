/** The fields that are present in a JSON object: the field mask of an update that has none. */
import type { DescMessage } from "@bufbuild/protobuf";
import { hasCustomJson } from "../message-fields.ts";
import type { JsonNode } from "./parser.ts";

/**
 * The paths of the fields whose keys are present, in proto names. A singular message given as an object counts by the
 * paths inside it; given as `{}` or null it counts as itself. Unknown keys do not count.
 */
export function fieldPathsOf(desc: DescMessage, json: JsonNode): string[] {
  if (!(json instanceof Map)) return [];
  return [...json].flatMap(([key, value]) => {
    const field = desc.fields.find(({ jsonName }) => jsonName === key) ?? desc.fields.find(({ name }) => name === key);
    if (field === undefined) return [];
    const inner =
      field.fieldKind === "message" && !hasCustomJson(field.message) ? fieldPathsOf(field.message, value) : [];
    return inner.length === 0 ? [field.name] : inner.map((path) => `${field.name}.${path}`);
  });
}
