/** Fields without which a message cannot be encoded: `required` of proto2, LEGACY_REQUIRED of editions. */
import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import type { Violations } from "../../codec/index.ts";

/** Adds a violation if a message lacks such a field. */
type RequiredCheck = (message: Message, violations: Violations) => void;

/** The check for messages of a type; undefined if neither the type nor those of its fields have such fields. */
export function createRequiredCheck(desc: DescMessage): RequiredCheck | undefined {
  if (!hasRequired(desc, new Set())) return undefined;
  return (message, violations) => {
    try {
      toBinary(desc, message);
    } catch (error) {
      const name = /(\w+) to binary: required field not set/.exec((error as Error).message)?.[1];
      if (name === undefined) throw error;
      violations.add("is required", name);
    }
  };
}

function hasRequired(desc: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(desc)) return false;
  seen.add(desc);
  return desc.fields.some(
    (field) =>
      field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED ||
      (field.message !== undefined && hasRequired(field.message, seen)),
  );
}
