/**
 * Checks the value rules of `buf.validate`, and reports violations in the way of this API: in the order of field
 * numbers, a violated `name` alone, and at most as many as a response lists.
 *
 * The search goes through a message field by field, down to the values that may violate a rule (`quick-check.ts`), and
 * asks the library about each of these. A list or map with too many items is one violation, and its items are not
 * checked. So the cost of an invalid message does not grow with the number of its violations.
 */
import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import type { Path } from "@bufbuild/protobuf/reflect";
import { createValidator } from "@bufbuild/protovalidate";
import {
  type FieldRules,
  field as fieldOption,
  oneof as oneofOption,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { getOption } from "../../annotations.ts";
import { getField, type LocalMessage } from "../../codec/index.ts";
import { counted, type FieldViolation, maxViolations } from "../../violations.ts";
import { matches } from "./patterns.ts";
import { createQuickCheck } from "./quick-check.ts";
import { describe, fieldOf } from "./wording.ts";

const validator = createValidator({ regexMatch: matches });
const quickCheck = createQuickCheck(matches);

/** The violations of `message`. `concerns` selects rules by field path, in which a oneof is an element of its own. */
export function violationsOf(
  schema: DescMessage,
  message: Message,
  concerns: (path: Path) => boolean = () => true,
): FieldViolation[] {
  if (quickCheck.keepsMessage(schema, message)) return [];
  const { name } = schema.field;
  if (name !== undefined) {
    const search = new Search(concerns);
    search.field(name, message as LocalMessage, []);
    const [violation] = search.found;
    if (violation !== undefined) return [violation];
  }
  const search = new Search(concerns);
  search.message(schema, message as LocalMessage, []);
  return search.found;
}

/**
 * Compiles the rules of messages ahead of the first call, since the first validation of a message takes tens of
 * milliseconds.
 */
export function warmValidation(schemas: Iterable<DescMessage>): void {
  for (const schema of schemas) validator.validate(schema, create(schema));
}

/** The element of a path for an item of a list or map. */
type Subscript = Extract<Path[number], { kind: "list_sub" | "map_sub" }>;

/** The search for violations in one message. It ends when there are more than a response lists. */
class Search {
  readonly found: FieldViolation[] = [];
  readonly #concerns: (path: Path) => boolean;

  constructor(concerns: (path: Path) => boolean) {
    this.#concerns = concerns;
  }

  get #isFull(): boolean {
    return this.found.length > maxViolations;
  }

  message(schema: DescMessage, message: LocalMessage, path: Path): void {
    if (quickCheck.keepsMessage(schema, message)) return;
    for (const field of inOrder(schema)) {
      if (this.#isFull) return;
      const { oneof } = field;
      if (oneof !== undefined && isFirstOf(field) && getOption(oneof, oneofOption).required && isUnset(oneof, message))
        this.#add([...path, oneof], `one of ${oneof.fields.map(({ name }) => name).join(", ")} is required`);
      if (!quickCheck.keepsField(field, message)) this.field(field, message, path);
    }
  }

  /** Checks a field without the quick check. */
  field(field: DescField, message: LocalMessage, path: Path): void {
    const value = getField(message, field);
    const here = [...path, field];
    const rules = getOption(field, fieldOption);
    if (field.fieldKind === "list") {
      const items = value as readonly unknown[];
      if (this.#hasItsSize(rules, items.length, here)) this.#items(field, items.entries(), here);
    } else if (field.fieldKind === "map") {
      const entries = Object.entries(value as object);
      if (this.#hasItsSize(rules, entries.length, here)) this.#items(field, entries, here);
    } else if (field.fieldKind === "message" && value !== undefined && rules.type.case === undefined) {
      this.message(field.message, value as LocalMessage, here);
    } else if (!this.#isFarTooLong(rules, value, here)) {
      this.#ask(field, value, here);
    }
  }

  /** Reports a text that is too long for every way of counting characters. Its pattern is not matched. */
  #isFarTooLong({ type }: FieldRules, value: unknown, path: Path): boolean {
    const most = type.case === "string" ? Number(type.value.maxLen) : 0;
    const isFarTooLong = most > 0 && typeof value === "string" && value.length > 2 * most;
    if (isFarTooLong) this.#add(path, `must be at most ${counted(most, "character")}`);
    return isFarTooLong;
  }

  #hasItsSize({ type }: FieldRules, size: number, path: Path): boolean {
    const [min, max, noun] =
      type.case === "repeated"
        ? [type.value.minItems, type.value.maxItems, "item"]
        : type.case === "map"
          ? [type.value.minPairs, type.value.maxPairs, "entry"]
          : [0n, 0n, ""];
    const isTooSmall = size < Number(min);
    const isTooLarge = max > 0n && size > Number(max);
    if (isTooLarge) this.#add(path, `must have at most ${counted(Number(max), noun)}`);
    else if (isTooSmall)
      this.#add(path, size === 0 ? "is required" : `must have at least ${counted(Number(min), noun)}`);
    return !isTooLarge && !isTooSmall;
  }

  #items(field: DescField, items: Iterable<readonly [number | string, unknown]>, path: Path): void {
    for (const [key, item] of items) {
      if (this.#isFull) return;
      if (quickCheck.keepsItem(field, item)) continue;
      const subscript: Subscript =
        typeof key === "number"
          ? { kind: "list_sub", index: key }
          : { kind: "map_sub", key: isTextKey(field) ? key : BigInt(key) };
      if (field.message !== undefined && !hasEntryRules(field))
        this.message(field.message, item as LocalMessage, [...path, subscript]);
      else this.#ask(field, field.fieldKind === "map" ? { [key]: item } : [item], path, subscript);
    }
  }

  /** Asks the library about a value of the field or, with a subscript, about its only item. */
  #ask(field: DescField, value: unknown, path: Path, subscript?: Subscript): void {
    const probe = create(field.parent) as LocalMessage;
    if (field.oneof === undefined) probe[field.localName] = value;
    else if (value !== undefined) probe[field.oneof.localName] = { case: field.localName, value };
    const result = validator.validate(field.parent, probe);
    if (result.kind === "error") throw result.error;
    if (result.kind === "valid") return;
    for (const violation of result.violations) {
      const [first, ...below] = violation.field;
      if (first !== field || (subscript !== undefined && below[0]?.kind !== subscript.kind)) continue;
      const whole = subscript === undefined ? [...path, ...below] : [...path, subscript, ...below.slice(1)];
      this.#add(whole, describe(violation, field, value, fieldOf(whole)));
    }
  }

  #add(path: Path, description: string): void {
    if (this.#concerns(path)) this.found.push({ field: fieldOf(path), description });
  }
}

function isTextKey(field: DescField): boolean {
  return field.fieldKind !== "map" || field.mapKey === ScalarType.STRING || field.mapKey === ScalarType.BOOL;
}

function hasEntryRules(field: DescField): boolean {
  const { type } = getOption(field, fieldOption);
  return type.case === "map" && (type.value.keys !== undefined || type.value.values !== undefined);
}

const sorted = new WeakMap<DescMessage, readonly DescField[]>();

/** The fields of a message by their numbers. */
function inOrder(schema: DescMessage): readonly DescField[] {
  let fields = sorted.get(schema);
  if (fields === undefined) {
    fields = schema.fields.toSorted((a, b) => a.number - b.number);
    sorted.set(schema, fields);
  }
  return fields;
}

function isFirstOf(member: DescField): boolean {
  return member.oneof?.fields.every(({ number }) => number >= member.number) === true;
}

function isUnset({ localName }: { readonly localName: string }, message: LocalMessage): boolean {
  return (message[localName] as { case?: string }).case === undefined;
}
