/** Value rules of fields (`buf.validate`) as keywords of JSON Schema, and as text where there is no keyword. */
import { type DescField, hasOption, ScalarType } from "@bufbuild/protobuf";
import {
  type FieldRules,
  field as fieldOption,
  Ignore,
  type MapRules,
  type RepeatedRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { getOption } from "../annotations.ts";
import type { Json, Schema } from "./document.ts";

/** What the rules of a value say. */
export interface ValueRules {
  readonly keywords: Schema;
  /** Sentences about rules that no keyword expresses. */
  readonly notes: readonly string[];
}

/** Those of a value without rules. */
export const noRules: ValueRules = { keywords: {}, notes: [] };

/**
 * The rules of a field; of a repeated field those of the list, with `items`, and of a map with those of its entries.
 */
export function rulesOf(field: DescField): ValueRules {
  const { keywords, notes } = hasOption(field, fieldOption) ? optionRules(field) : noRules;
  return { keywords: { ...rangeOf(field), ...keywords }, notes };
}

/** The range of 32-bit integers, which validators do not read from the format. */
function rangeOf({ fieldKind, scalar }: DescField): Schema {
  const isInt32 = scalar === ScalarType.INT32 || scalar === ScalarType.SINT32 || scalar === ScalarType.SFIXED32;
  if (!isInt32) return {};
  const range = { minimum: -2_147_483_648, maximum: 2_147_483_647 };
  return fieldKind === "list" ? { items: range } : fieldKind === "scalar" ? range : {};
}

function optionRules(field: DescField): ValueRules {
  const rules = getOption(field, fieldOption);
  if (rules.ignore === Ignore.ALWAYS) return noRules;
  const isOptional = rules.ignore === Ignore.IF_ZERO_VALUE && field.fieldKind !== "message";
  const { keywords, notes } = isOptional ? orZero(valueRules(rules)) : valueRules(rules);
  return { keywords, notes: [...notes, ...celNotes(rules)] };
}

/** Whether a value must be given. */
export function isRequiredByRules(field: DescField): boolean {
  return hasOption(field, fieldOption) && getOption(field, fieldOption).required;
}

function celNotes({ cel }: FieldRules): string[] {
  return cel.map(({ message, expression }) => (message === "" ? `Must satisfy \`${expression}\`.` : sentence(message)));
}

/** The rules of a text that may also be empty. */
function orZero({ keywords: { minLength, pattern, format, ...keywords }, notes }: ValueRules): ValueRules {
  return {
    keywords: { ...keywords, ...(typeof pattern === "string" && { pattern: `^$|${pattern}` }) },
    notes: format === undefined ? notes : [...notes, `Unless empty, of the format \`${format}\`.`],
  };
}

function valueRules(rules: FieldRules): ValueRules {
  const { type } = rules;
  switch (type.case) {
    case undefined:
      return noRules;
    case "repeated":
      return listRules(type.value);
    case "map":
      return mapRules(type.value);
    case "string": {
      const { minLen, maxLen, len, pattern, in: allowed, notIn, maxBytes, prefix, contains, wellKnown } = type.value;
      const keywords = {
        minLength: positive(len) ?? positive(minLen),
        maxLength: positive(len) ?? positive(maxLen),
        pattern: pattern === "" ? undefined : ecmaPattern(pattern),
        enum: allowed.length > 0 ? allowed : undefined,
        not: notIn.length > 0 ? { enum: notIn } : undefined,
        format: wellKnown.case === undefined || wellKnown.value !== true ? undefined : stringFormats[wellKnown.case],
      };
      return rulesFrom(
        keywords,
        maxBytes > 0n && `At most ${maxBytes} bytes in UTF-8.`,
        prefix !== "" && `Begins with \`${prefix}\`.`,
        contains !== "" && `Contains \`${contains}\`.`,
      );
    }
    case "bytes": {
      const { minLen, maxLen } = type.value;
      return rulesFrom({}, minLen > 0n && `At least ${minLen} bytes.`, maxLen > 0n && `At most ${maxLen} bytes.`);
    }
    case "enum": {
      const { in: allowed, notIn } = type.value;
      return rulesFrom(
        {},
        allowed.length > 0 && `Only the values ${allowed.join(", ")}.`,
        notIn.includes(0) && "Must not be the unspecified value.",
      );
    }
    case "bool":
      return rulesFrom({ const: type.value.const });
    case "int32":
    case "uint32":
    case "sint32":
    case "fixed32":
    case "sfixed32":
    case "float":
    case "double":
      return rulesFrom({
        minimum: boundOf(type.value.greaterThan, "gte"),
        exclusiveMinimum: boundOf(type.value.greaterThan, "gt"),
        maximum: boundOf(type.value.lessThan, "lte"),
        exclusiveMaximum: boundOf(type.value.lessThan, "lt"),
        enum: type.value.in.length > 0 ? type.value.in : undefined,
      });
    case "int64":
    case "uint64":
    case "sint64":
    case "fixed64":
    case "sfixed64":
    case "duration":
      return rulesFrom({}, ...boundNotes(type.value));
    default:
      return noRules;
  }
}

function listRules({ minItems, maxItems, unique, items }: RepeatedRules): ValueRules {
  const item = items === undefined ? noRules : valueRules(items);
  return {
    keywords: {
      ...defined({ minItems: positive(minItems), maxItems: positive(maxItems), uniqueItems: unique || undefined }),
      ...(Object.keys(item.keywords).length > 0 && { items: item.keywords }),
    },
    notes: item.notes.map((note) => `Each: ${note}`),
  };
}

function mapRules({ minPairs, maxPairs, keys, values }: MapRules): ValueRules {
  const key = keys === undefined ? noRules : valueRules(keys);
  const value = values === undefined ? noRules : valueRules(values);
  return {
    keywords: {
      ...defined({ minProperties: positive(minPairs), maxProperties: positive(maxPairs) }),
      ...(Object.keys(key.keywords).length > 0 && { propertyNames: key.keywords }),
      ...(Object.keys(value.keywords).length > 0 && { additionalProperties: value.keywords }),
    },
    notes: [...key.notes.map((note) => `Each key: ${note}`), ...value.notes.map((note) => `Each value: ${note}`)],
  };
}

const stringFormats: Readonly<Record<string, string>> = {
  email: "email",
  hostname: "hostname",
  ipv4: "ipv4",
  ipv6: "ipv6",
  uri: "uri",
  uriRef: "uri-reference",
  uuid: "uuid",
};

/** A pattern of RE2 in the syntax of ECMA-262 with the flag `u`, as JSON Schema has it. */
function ecmaPattern(pattern: string): string {
  return pattern
    .replaceAll("\\z", "$")
    .replaceAll("\\A", "^")
    .replace(/\\([pP])([A-Z])/g, "\\$1{$2}");
}

/** A bound of a number, if it is of this kind. */
function boundOf(
  bound: { readonly case?: string | undefined; readonly value?: unknown },
  kind: string,
): Json | undefined {
  return bound.case === kind ? (bound.value as number) : undefined;
}

const comparisons: Readonly<Record<string, string>> = {
  gt: "More than",
  gte: "At least",
  lt: "Less than",
  lte: "At most",
};

/** Sentences about the bounds of values that JSON writes as text. */
function boundNotes(rules: { readonly greaterThan: Bound; readonly lessThan: Bound }): string[] {
  return [rules.greaterThan, rules.lessThan].flatMap(({ case: kind, value }) =>
    kind === undefined ? [] : [`${comparisons[kind]} ${boundText(value)}.`],
  );
}

interface Bound {
  readonly case?: string | undefined;
  readonly value?: unknown;
}

function boundText(value: unknown): string {
  return typeof value === "object" && value !== null && "seconds" in value ? `${value.seconds} seconds` : String(value);
}

function rulesFrom(keywords: Schema, ...notes: (string | false)[]): ValueRules {
  return { keywords: defined(keywords), notes: notes.filter((note) => note !== false) };
}

function defined(keywords: Schema): Schema {
  return Object.fromEntries(Object.entries(keywords).filter(([, value]) => value !== undefined));
}

function positive(value: bigint): number | undefined {
  return value > 0n ? Number(value) : undefined;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
