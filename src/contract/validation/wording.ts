/**
 * The wording of violations of value rules: the path that a caller can send, and what the rule requires of the value.
 */
import type { DescField } from "@bufbuild/protobuf";
import type { Path } from "@bufbuild/protobuf/reflect";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import type { Violation } from "@bufbuild/protovalidate";
import { field as fieldOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { getOption } from "../../annotations.ts";
import { counted, listedValues, shorten } from "../../violations.ts";
import { isOneLine, matchesAnyText } from "./patterns.ts";

/** The pattern that the specification reports for a missing name, too. Other missing fields are "required". */
const specifiedPattern = "^[a-z0-9 ._-]{1,}$";

/**
 * A path in proto names: `claim_match.subject`, `bundles[2]`, `claims["k"]`. A oneof has the name of its first member.
 */
export function fieldOf(path: Path): string {
  return path.reduce((text, part) => {
    switch (part.kind) {
      case "list_sub":
        return `${text}[${part.index}]`;
      case "map_sub":
        return `${text}[${typeof part.key === "string" ? JSON.stringify(shorten(part.key)) : part.key}]`;
      default: {
        const name = part.kind === "oneof" ? part.fields[0]!.name : part.name;
        return text === "" ? name : `${text}.${name}`;
      }
    }
  }, "");
}

/**
 * Describes the violation of a field, or of its only item. `name` is the path that a violated pattern is reported with.
 */
export function describe(violation: Violation, field: DescField, value: unknown, name: string): string {
  const pattern = patternOf(violation);
  if (isAbsent(field, value) && pattern !== specifiedPattern) return "is required";
  if (pattern !== undefined) return describePattern(pattern, value, name);
  const text = reworded(violation, field);
  return violation.forKey ? `its key ${text}` : text;
}

/** The pattern that failed, from the end of the default message, in backquotes. */
function patternOf({ ruleId, message }: Violation): string | undefined {
  return ruleId === "string.pattern" ? /`(?<pattern>.*)`$/s.exec(message)?.groups?.pattern : undefined;
}

function describePattern(pattern: string, value: unknown, name: string): string {
  const text = String(Array.isArray(value) ? value[0] : value);
  return matchesAnyText(pattern, text) && !isOneLine(text)
    ? "must be one line without control characters"
    : `${name} must match "${pattern}"`;
}

/** Whether the caller has omitted the field, or has sent a value that is equivalent. */
function isAbsent(field: DescField, value: unknown): boolean {
  if (value === undefined) return true;
  const isImplicit = "presence" in field && field.presence === FeatureSet_FieldPresence.IMPLICIT;
  return isImplicit && (value === "" || value === 0);
}

function reworded({ ruleId, message }: Violation, field: DescField): string {
  if (field.enum !== undefined && ruleId.startsWith("enum.")) return `must be one of ${listedValues(namesOf(field))}`;
  const list = /^must be in list \[(?<list>.*)\]$/s.exec(message)?.groups?.list;
  if (list !== undefined) return `must be one of ${listedValues(list.split(", "))}`;
  return message
    .replace(/^must be greater than or equal to (.*)$/, "must be $1 or more")
    .replace(/\b(\d+) (character|byte)s\b/, (_, count: string, noun: string) => counted(Number(count), noun));
}

/** The names of the enum values that the field accepts. */
function namesOf(field: DescField): string[] {
  const rules = getOption(field, fieldOption);
  const own = rules.type.case === "repeated" ? rules.type.value.items : rules;
  const refused = own?.type.case === "enum" ? own.type.value.notIn : [];
  return field.enum!.values.filter(({ number }) => !refused.includes(number)).map(({ name }) => name);
}
