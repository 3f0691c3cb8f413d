/**
 * Query parameters to request fields.
 *
 * A parameter is named by a field path, each segment in either spelling: `uidp.descendants_of`, `pageSize`; an entry of
 * a map by its key in brackets: `labels[env]`. A `json_name` may itself have dots and brackets. Repeated fields repeat
 * the parameter. Unknown parameters, singular ones given twice and two members of a oneof are violations: ignoring a
 * mistyped filter would list everything.
 */
import type { DescField, Message } from "@bufbuild/protobuf";
import { getField, getList, type Local, mapKeyReader, setField, setOwn, type Violations } from "../../codec/index.ts";
import { shorten } from "../../violations.ts";
import type { Binding } from "../binding.ts";
import {
  type FieldPath,
  formatFieldPath,
  holderOf,
  leafField,
  oneofsAlong,
  otherMember,
  parseFieldPath,
  type TextPath,
} from "../field-path.ts";
import { decodeText } from "../path.ts";
import { textReaderOf } from "./text-value.ts";

/** Fills a request from a raw query, collects violations, and returns the paths of the fields that were given. */
type QueryReader = (query: string, message: Message, violations: Violations) => ReadonlySet<string>;

/** The reader for the parameters a binding takes: all fields bound neither by its path nor by its body. */
export function createQueryReader(binding: Binding, ignoreUnknown: boolean): QueryReader {
  const members = boundMembers(binding);
  return (query, message, violations) => {
    const assignment = new Assignment(binding, members, message, violations);
    for (const parameter of query.split("&")) {
      if (parameter === "") continue;
      if (violations.isFull) break;
      const [rawName, rawValue] = splitOnce(parameter, "=");
      const name = decodeText(rawName.replaceAll("+", " "));
      const value = decodeText(rawValue.replaceAll("+", " "));
      if (name === undefined || value === undefined) {
        violations.add("malformed escape or text in the query", shorten(name ?? rawName));
        continue;
      }
      const target = findTarget(binding, name);
      if (target !== undefined) {
        assignment.assign(target, value);
      } else if (!ignoreUnknown) {
        violations.add("unknown parameter", shorten(name));
      }
    }
    return assignment.given;
  };
}

/** The members of oneofs that path and body give, by path of the oneof. */
function boundMembers({ variables, body }: Binding): ReadonlyMap<string, string> {
  const paths = variables.map(({ path }) => path);
  return new Map((typeof body === "object" ? [...paths, [body] as const] : paths).flatMap(oneofsAlong));
}

/** The field that a parameter names; undefined if none that parameters may give. */
function findTarget({ method, variables, body }: Binding, name: string): TextPath | undefined {
  const target = parseFieldPath(method.input, name);
  if (target === undefined || body !== "*") return target;
  const path = formatFieldPath(target.path);
  return variables.some((variable) => variable.fieldPath === path) ? target : undefined;
}

class Assignment {
  /** Canonical paths of the fields that were given a value. */
  readonly given = new Set<string>();
  /** How many items of each list were given, acceptable or not. */
  readonly #items = new Map<string, number>();
  readonly #binding: Binding;
  readonly #message: Message;
  readonly #violations: Violations;
  /** The member that was given, by path of the oneof. */
  readonly #members: Map<string, string>;

  constructor(binding: Binding, members: ReadonlyMap<string, string>, message: Message, violations: Violations) {
    this.#binding = binding;
    this.#members = new Map(members);
    this.#message = message;
    this.#violations = violations;
  }

  assign({ path, key }: TextPath, text: string): void {
    const name = formatFieldPath(path);
    const field = leafField(path);
    if (field.message?.typeName === "google.protobuf.FieldMask" && text === "") {
      return; // An empty mask counts as absent.
    }
    const problem = this.#conflict(path, name) ?? this.#put(path, field, key, text);
    if (problem !== undefined) this.#violations.add(problem, name + this.#subscript(field, name, key));
    this.given.add(name);
    if (field.fieldKind === "list") this.#items.set(name, (this.#items.get(name) ?? 0) + 1);
  }

  /** The step of a violation path for the item of a list or map that was just given. */
  #subscript({ fieldKind }: DescField, name: string, key: string | undefined): string {
    if (fieldKind === "list") return `[${this.#items.get(name) ?? 0}]`;
    return key === undefined ? "" : `[${JSON.stringify(shorten(key))}]`;
  }

  #conflict(path: FieldPath, name: string): string | undefined {
    const { variables, body } = this.#binding;
    if (variables.some((variable) => variable.fieldPath === name)) return "is already given by the path";
    if (body === path[0]) return "is already given by the body";
    const kind = leafField(path).fieldKind;
    if (kind !== "list" && kind !== "map" && this.given.has(name)) return "given twice";
    const other = otherMember(path, this.#members);
    return other === undefined ? undefined : `cannot be given with ${other}`;
  }

  /** Puts a value into the message, or adds a violation. */
  #put(path: FieldPath, field: DescField, key: string | undefined, text: string): string | undefined {
    const reader = textReaderOf(field);
    if (reader === undefined) return "cannot be given as a parameter";
    const value = reader.read(text);
    if (value === undefined) return `must be ${reader.expects}`;
    const holder = holderOf(this.#message, path);
    if (field.fieldKind === "list") {
      getList(holder, field).push(value);
      return undefined;
    }
    if (field.fieldKind === "map")
      return putEntry(getField(holder, field) as Local, mapKeyReader(field.mapKey)(key ?? ""), value);
    setField(holder, field, value);
    return undefined;
  }
}

function putEntry(entries: Local, key: string | undefined, value: unknown): string | undefined {
  if (key === undefined) return "invalid key";
  if (Object.hasOwn(entries, key)) return "given twice";
  setOwn(entries, key, value);
  return undefined;
}

/** Splits at the first separator; the second part is empty without one. */
function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
