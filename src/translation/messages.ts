/**
 * Translations between messages of two versions of an API, compiled from tables. Whatever a table does not say must be
 * equal in both descriptors: a field that is forgotten stops the server.
 */
import { create, type DescEnum, type DescField, type DescMessage, isFieldSet, type Message } from "@bufbuild/protobuf";
import { getField, type Local, type LocalMessage, setField, zeroMessage } from "../codec/index.ts";
import { invalid } from "../errors.ts";

/** Why a field or a value has no counterpart, by its name in the proto file. */
export type Reasons = Readonly<Record<string, string>>;

/** A field of another form in the newer version. */
export interface Conversion {
  readonly name: string;
  readonly toNewer: (value: never) => unknown;
  readonly toOlder: (value: never) => unknown;
}

/**
 * What differs between a message and its counterpart. Names are those of the proto files. Messages that differ in
 * nothing need no table.
 */
export interface MessageTable {
  readonly older: DescMessage;
  readonly newer: DescMessage;
  /** Fields of the older message with another name or form. A name with a dot is that of a field of a field. */
  readonly fields?: Readonly<Record<string, string | Conversion>>;
  /** Fields of the older message that are ignored in requests and never set in responses. */
  readonly onlyOlder?: Reasons;
  /** Fields of the older message that a request must not set; the reason is part of the error. */
  readonly refused?: Reasons;
  /** Fields of the newer message that keep their values in requests and are left out of responses. */
  readonly onlyNewer?: Reasons;
}

/** What differs between an enum and its counterpart. Enums whose values differ only in their prefix need no table. */
export interface EnumTable {
  readonly older: DescEnum;
  readonly newer: DescEnum;
  /** Values with another name, older to newer. */
  readonly values?: Readonly<Record<string, string>>;
  /** Values without counterpart. They become the zero value. */
  readonly onlyOlder?: Reasons;
  readonly onlyNewer?: Reasons;
}

/** The tables of a version. */
export interface Tables {
  readonly messages: readonly MessageTable[];
  readonly enums: readonly EnumTable[];
  /** Names that differ in every message: `uid` for `id`. A table may say otherwise. */
  readonly fields: Readonly<Record<string, string>>;
  /** Fields that newer messages may have without counterpart, whatever the message. */
  readonly onlyNewer: Reasons;
}

type Convert = (value: unknown) => unknown;

interface Converts {
  readonly toNewer: Convert;
  readonly toOlder: Convert;
  /** The translation of messages in the field. */
  readonly within?: Translation;
}

/** Two fields with the same meaning. */
interface FieldPair extends Converts {
  readonly older: DescField;
  /** The path of the field in the newer message. */
  readonly newer: readonly DescField[];
}

const same: Convert = (value) => value;
const unchanged: Converts = { toNewer: same, toOlder: same };

/** Translates messages both ways. */
export class Translator {
  readonly #tables: Tables;
  readonly #faults: string[] = [];
  readonly #translations = new Map<string, Translation>();

  /** Errors: one plain Error that lists every field and value that the tables forget. */
  constructor(tables: Tables) {
    this.#tables = tables;
    for (const { older, newer } of tables.messages) this.#of(older, newer);
    for (const table of tables.enums) enumNumbers(table, (fault) => this.#faults.push(fault));
    this.#throwFaults();
  }

  /** The translation of two messages. Errors: as the constructor. */
  between(older: DescMessage, newer: DescMessage): Translation {
    const translation = this.#of(older, newer);
    this.#throwFaults();
    return translation;
  }

  /** The translation of two messages, if some table or message needs one. */
  find(older: DescMessage, newer: DescMessage): Translation | undefined {
    return this.#translations.get(`${older.typeName} ${newer.typeName}`);
  }

  #of(older: DescMessage, newer: DescMessage): Translation {
    const name = `${older.typeName} ${newer.typeName}`;
    const known = this.#translations.get(name);
    if (known !== undefined) return known;
    const table = this.#tables.messages.find((each) => each.older === older && each.newer === newer);
    const translation = new Translation(older, newer, table?.refused);
    this.#translations.set(name, translation); // before its fields are read: a message may contain itself
    translation.pairs = this.#pairsOf(table ?? { older, newer });
    return translation;
  }

  #throwFaults(): void {
    if (this.#faults.length > 0)
      throw new Error(`the tables of src/services/v1 are incomplete:\n  ${this.#faults.join("\n  ")}`);
  }

  #pairsOf({ older, newer, fields = {}, onlyOlder = {}, refused = {}, onlyNewer = {} }: MessageTable): FieldPair[] {
    const common = this.#tables;
    const report = (fault: string) => this.#faults.push(fault);
    const counterparts = new Set<DescField | undefined>();
    const pairs = older.fields.flatMap((field): FieldPair[] => {
      if (Object.hasOwn(onlyOlder, field.name) || Object.hasOwn(refused, field.name)) return [];
      const isEqual = newer.fields.some(({ name }) => name === field.name);
      const translation = fields[field.name] ?? ((!isEqual && common.fields[field.name]) || field.name);
      const name = typeof translation === "string" ? translation : translation.name;
      const path = pathOf(newer, name);
      if (path === undefined) {
        report(`${older.typeName}.${field.name} has no counterpart ${name} in ${newer.typeName}`);
        return [];
      }
      counterparts.add(path[0]);
      const converts = typeof translation === "string" ? this.#converts(field, path.at(-1)!) : translation;
      if (converts !== undefined) return [{ older: field, newer: path, ...(converts as Converts) }];
      report(`${older.typeName}.${field.name} has another type than ${newer.typeName}.${name}`);
      return [];
    });
    for (const field of newer.fields) {
      const isKnown = Object.hasOwn(onlyNewer, field.name) || Object.hasOwn(common.onlyNewer, field.name);
      if (!counterparts.has(field) && !isKnown)
        report(`${newer.typeName}.${field.name} has no counterpart in ${older.typeName}`);
    }
    for (const name of [...Object.keys(fields), ...Object.keys(onlyOlder), ...Object.keys(refused)])
      if (!older.fields.some((field) => field.name === name)) report(`${older.typeName} has no field ${name}`);
    for (const name of Object.keys(onlyNewer))
      if (!newer.fields.some((field) => field.name === name)) report(`${newer.typeName} has no field ${name}`);
    return pairs;
  }

  /** The conversions of the values of two fields; undefined where their types have nothing in common. */
  #converts(older: DescField, newer: DescField): Converts | undefined {
    if (older.fieldKind === "list" || newer.fieldKind === "list") {
      const one = older.fieldKind === newer.fieldKind ? this.#valueConverts(older, newer) : undefined;
      return one && overEach(one, (convert) => (list) => (list as readonly unknown[]).map(convert));
    }
    if (older.fieldKind === "map" || newer.fieldKind === "map") {
      const isSameKey = older.fieldKind === "map" && newer.fieldKind === "map" && older.mapKey === newer.mapKey;
      const one = isSameKey ? this.#valueConverts(older, newer) : undefined;
      return one && overEach(one, ofMap);
    }
    return this.#valueConverts(older, newer);
  }

  #valueConverts(older: DescField, newer: DescField): Converts | undefined {
    if (older.scalar !== undefined) return older.scalar === newer.scalar ? unchanged : undefined;
    if (older.enum !== undefined && newer.enum !== undefined) return this.#enumConverts(older.enum, newer.enum);
    const { message } = older;
    const { message: counterpart } = newer;
    if (message === undefined || counterpart === undefined) return undefined;
    if (message === counterpart) return unchanged;
    const translation = this.#of(message, counterpart);
    return {
      toNewer: (value) => translation.toNewer(value as Message),
      toOlder: (value) => translation.toOlder(value as Message),
      within: translation,
    };
  }

  #enumConverts(older: DescEnum, newer: DescEnum): Converts | undefined {
    if (older === newer) return unchanged;
    const table = this.#tables.enums.find((each) => each.older === older && each.newer === newer);
    const numbers = enumNumbers(table ?? { older, newer }, (fault) => table ?? this.#faults.push(fault));
    const toNewer = new Map(numbers);
    const toOlder = new Map(numbers.map(([from, to]): [number, number] => [to, from]));
    return {
      toNewer: (value) => toNewer.get(value as number) ?? 0,
      toOlder: (value) => toOlder.get(value as number) ?? 0,
    };
  }
}

/** The translation of two messages. */
export class Translation {
  readonly older: DescMessage;
  readonly newer: DescMessage;
  /** The fields with a counterpart, in the order of the older message. */
  pairs: readonly FieldPair[] = [];

  readonly #refused: readonly (readonly [DescField, string])[];
  readonly #emptyOlder: () => LocalMessage;
  readonly #emptyNewer: () => LocalMessage;

  constructor(older: DescMessage, newer: DescMessage, refused: Reasons = {}) {
    this.older = older;
    this.newer = newer;
    this.#emptyOlder = zeroMessage(older);
    this.#emptyNewer = zeroMessage(newer);
    this.#refused = older.fields.flatMap((field) => {
      const reason = refused[field.name];
      return reason === undefined ? [] : [[field, reason] as const];
    });
  }

  /**
   * The older message as the newer one. Zero values of fields without presence are left out. Errors: INVALID_ARGUMENT
   * for a field that a request must not set.
   */
  toNewer(message: Message): Message {
    const refused = this.#refused.filter(([field]) => isFieldSet(message, field));
    if (refused.length > 0) throw invalid(refused.map(([{ name }, description]) => ({ field: name, description })));
    const result = this.#emptyNewer();
    for (const { older, newer, toNewer } of this.pairs) {
      if (!isFieldSet(message, older)) continue;
      let holder: Local = result;
      for (const field of newer.slice(0, -1)) {
        const within = getField(holder, field) ?? create(field.message!);
        setField(holder, field, within);
        holder = within as Local;
      }
      setField(holder, newer.at(-1)!, toNewer(getField(message, older)));
    }
    return result;
  }

  /** The newer message as the older one. */
  toOlder(message: Message): Message {
    const result = this.#emptyOlder();
    for (const { older, newer, toOlder } of this.pairs) {
      let value: unknown = message;
      for (const field of newer) value = value === undefined ? undefined : getField(value as Local, field);
      const counterpart = value === undefined ? undefined : toOlder(value);
      if (counterpart !== undefined) setField(result, older, counterpart);
    }
    return result;
  }

  /**
   * The path of a field in the older message for one in the newer message: `id` for `uid`; undefined for a field
   * without counterpart.
   */
  olderPath(path: string): string | undefined {
    for (const { older, newer, within } of this.pairs) {
      const name = newer.map((field) => field.name).join(".");
      const rest = path.startsWith(name) ? path.slice(name.length) : undefined;
      const [, index = "", inner] = /^((?:\[[^\]]*\])?)(?:\.(.*))?$/s.exec(rest ?? "-") ?? [];
      if (rest !== `${index}${inner === undefined ? "" : `.${inner}`}`) continue;
      return older.name + index + (inner === undefined ? "" : `.${within?.olderPath(inner) ?? inner}`);
    }
    return undefined;
  }
}

/** The fields of a dotted path; undefined if there is no such field. */
function pathOf(message: DescMessage, path: string): DescField[] | undefined {
  const fields: DescField[] = [];
  for (const name of path.split(".")) {
    const within = fields.length === 0 ? message : fields.at(-1)?.message;
    const field = within?.fields.find((each) => each.name === name);
    if (field === undefined) return undefined;
    fields.push(field);
  }
  return fields;
}

function overEach(one: Converts, each: (convert: Convert) => Convert): Converts {
  return one === unchanged ? unchanged : { ...one, toNewer: each(one.toNewer), toOlder: each(one.toOlder) };
}

function ofMap(convert: Convert): Convert {
  return (map) =>
    Object.fromEntries(Object.entries(map as Local).map(([key, value]): [string, unknown] => [key, convert(value)]));
}

/** The numbers of the values that agree, older to newer. */
function enumNumbers(
  { older, newer, values = {}, onlyOlder = {}, onlyNewer = {} }: EnumTable,
  report: (fault: string) => void,
): [number, number][] {
  const used = new Set<string>();
  const numbers = older.values.flatMap(({ name, number }): [number, number][] => {
    if (Object.hasOwn(onlyOlder, name)) return [];
    const plain = plainName(older, name);
    const counterpart = newer.values.find((value) =>
      Object.hasOwn(values, name)
        ? value.name === values[name]
        : (number === 0 && value.number === 0) || plainName(newer, value.name) === plain,
    );
    if (counterpart === undefined) {
      report(`${older.typeName}.${name} has no counterpart in ${newer.typeName}`);
      return [];
    }
    used.add(counterpart.name);
    return [[number, counterpart.number]];
  });
  for (const { name } of newer.values) {
    if (!used.has(name) && !Object.hasOwn(onlyNewer, name))
      report(`${newer.typeName}.${name} has no counterpart in ${older.typeName}`);
  }
  return numbers;
}

/** The name of a value without the prefix of its enum: `FIPS` for `CATALOG_TIER_FIPS`. */
function plainName({ sharedPrefix = "" }: DescEnum, name: string): string {
  return name.toLowerCase().startsWith(sharedPrefix) ? name.slice(sharedPrefix.length) : name;
}
