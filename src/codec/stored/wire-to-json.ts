/**
 * The wire format to JSON text without a message in between, by functions compiled once per message descriptor.
 *
 * They know bytes as our binary writer makes them, with fields in the order of their numbers, each once, and the types
 * that resources consist of. They bail out of other bytes, which are decoded instead. The text is that of the JSON
 * writer, byte for byte. Without generated code they always bail out.
 */
import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { type Bind, compileFunction, perMessage } from "../compile/compile-function.ts";
import { hasCustomJson, hasPresence } from "../message-fields.ts";
import { type Ascii, asciiOf, bailOut, JsonBytes } from "./json-buffer.ts";

/** A field whose value is not in the bytes but supplied by their source: a text, or microseconds since 1970. */
type SuppliedField<S> = SuppliedText<S> | { timeUs(source: S): number };

interface SuppliedText<S> {
  text(source: S): string;
  /** Writes the text, escaped, without its quotation marks, where that is faster than `text`. */
  json?(out: JsonBytes, source: S): void;
}

/** Supplied fields by local name. */
export type SuppliedFields<S> = Readonly<Record<string, SuppliedField<S>>>;

/** Writes the message between two indexes. Returns false, perhaps after writing something, where it bails out. */
export type WireToJson<S> = (from: DataView, at: number, end: number, source: S) => boolean;

/** Writing is synchronous, so that one buffer is enough. */
export const json = new JsonBytes();

/** Compiles the function for messages of a type whose JSON is an object of its fields. */
export function createWireToJson<S>(desc: DescMessage, suppliedFields: SuppliedFields<S>): WireToJson<S> {
  const emit = (bind: Bind) => {
    const object = new ObjectCode(desc, bind);
    for (const field of desc.fields.toSorted((a, b) => a.number - b.number)) {
      const supplied = suppliedFields[field.localName];
      if (supplied === undefined) object.addRead(field);
      else object.addSupplied(field, supplied);
    }
    return object.end();
  };
  return compileFunction<WireToJson<S>>("from, at, end, source", emit, () => () => false);
}

const typeOf = perMessage((desc: DescMessage): { write: WireToJson<void> } => {
  const type = {
    write(...message: Parameters<WireToJson<void>>): boolean {
      type.write = createWireToJson<void>(desc, {});
      return type.write(...message);
    },
  };
  return type;
});

/** The code that writes an object. */
class ObjectCode {
  readonly #bind: Bind;
  readonly #out: string;
  #code = "";
  /** Text that is joined with the next before it is written. */
  #waiting = "{";
  /** The comma before the next member; undefined where it depends on the members before. */
  #comma: "" | "," | undefined = "";

  constructor({ oneofs }: DescMessage, bind: Bind) {
    this.#bind = bind;
    this.#out = bind(json);
    this.#code = oneofs.map((_, index) => `let ${seen(index)} = false;\n`).join("");
    this.#code += `let tag = ${bind(tagAt)}(from, at, end);\n`;
  }

  /** Adds a member whose value the source supplies. */
  addSupplied<S>(field: DescField, supplied: SuppliedField<S>): void {
    this.#begin(field, '"');
    this.#flush();
    this.#code +=
      "timeUs" in supplied
        ? `${this.#out}.time(${this.#bind(supplied.timeUs)}(source));\n`
        : supplied.json === undefined
          ? `${this.#out}.string(${this.#bind(supplied.text)}(source));\n`
          : `${this.#bind(supplied.json)}(${this.#out}, source);\n`;
    this.#waiting = '"';
    this.#comma = ",";
  }

  /** Adds a member whose value is in the bytes. */
  addRead(field: DescField): void {
    const { read, ...form } = formOf(field, this.#bind, this.#out);
    if (!hasPresence(field)) {
      this.#begin(field, form.before);
      if (read !== undefined) {
        this.#flush();
        this.#code += `if (tag === ${form.tag}) {\n${this.#readCode(read)}}`;
        this.#code += form.absent === "" ? "\n" : ` else { ${this.#put(form.absent)} }\n`;
        this.#waiting = form.after;
      } else this.#waiting += form.absent + form.after;
      this.#comma = ",";
    } else if (read !== undefined) {
      this.#flush();
      const comma = this.#comma;
      this.#code += `if (tag === ${form.tag}) {\n${onlyMember(field)}`;
      this.#begin(field, form.before);
      this.#flush();
      this.#code += this.#readCode(read);
      this.#waiting = form.after;
      this.#flush();
      this.#code += "}\n";
      this.#comma = comma || undefined;
    }
  }

  end(): string {
    this.#waiting += "}";
    this.#flush();
    return `${this.#code}return at === end;`;
  }

  #begin({ jsonName }: DescField, before: string): void {
    if (this.#comma === undefined) {
      this.#flush();
      this.#code += `${this.#out}.comma();\n`;
    }
    this.#waiting += `${this.#comma ?? ""}${JSON.stringify(jsonName)}:${before}`;
  }

  #flush(): void {
    if (this.#waiting !== "") this.#code += `${this.#put(this.#waiting)}\n`;
    this.#waiting = "";
  }

  #put(text: string): string {
    return `${this.#out}.ascii(${this.#bind(asciiOf(text))});`;
  }

  #readCode(read: string): string {
    return `at = ${read};\nif (at === ${bailOut}) return false;\ntag = ${this.#bind(tagAt)}(from, at, end);\n`;
  }
}

/** The last member of a oneof counts. Bytes with two members are decoded. */
function onlyMember({ oneof }: DescField): string {
  if (oneof === undefined) return "";
  const variable = seen(oneof.parent.oneofs.indexOf(oneof));
  return `if (${variable}) return false;\n${variable} = true;\n`;
}

/** The variable that says whether a member of a oneof was seen. */
function seen(oneof: number): string {
  return `seen${oneof}`;
}

/** How a field is written. Without `read`, messages in which it is set are decoded. */
interface Form {
  readonly tag?: number;
  readonly before: string;
  readonly read?: string | undefined;
  /** The text between `before` and `after` where the field is not in the bytes. */
  readonly absent: string;
  readonly after: string;
}

function formOf(field: DescField, bind: Bind, out: string): Form {
  const form = anyFormOf(field, bind, out);
  return field.number > maxNumber ? { ...form, read: undefined } : form;
}

function anyFormOf(field: DescField, bind: Bind, out: string): Form {
  switch (field.fieldKind) {
    case "map":
      return { before: "{", absent: "", after: "}" };
    case "list":
      return listForm(field, bind);
    case "enum":
      return choiceForm(field, textsOf(field.enum), bind, out);
    case "message": {
      if (field.message.typeName === "google.protobuf.Timestamp") {
        const tag = tagOf(field, WireType.LengthDelimited);
        return { tag, before: '"', read: `${out}.timestampOf(${after(tag)})`, absent: "", after: '"' };
      }
      if (hasCustomJson(field.message) || field.delimitedEncoding) return { before: "", absent: "", after: "" };
      const tag = tagOf(field, WireType.LengthDelimited);
      const read = `${bind(writeEmbedded)}(${after(tag)}, ${bind(typeOf(field.message))})`;
      return { tag, before: "", read, absent: "", after: "" };
    }
    case "scalar":
      return scalarForm(field, field.scalar, bind, out);
  }
}

function scalarForm(field: DescField, type: ScalarType, bind: Bind, out: string): Form {
  const integer = (max: number, quote: string): Form => {
    const tag = tagOf(field, WireType.Varint);
    return { tag, before: quote, read: `${out}.integerOf(${after(tag)}, ${max})`, absent: "0", after: quote };
  };
  switch (type) {
    case ScalarType.STRING: {
      const tag = tagOf(field, WireType.LengthDelimited);
      return { tag, before: '"', read: `${out}.stringOf(${after(tag)})`, absent: "", after: '"' };
    }
    case ScalarType.BOOL:
      return choiceForm(field, new Map([[0, "false"], [1, "true"]]), bind, out); // biome-ignore format: a table
    case ScalarType.INT32:
      return integer(2 ** 31 - 1, "");
    case ScalarType.UINT32:
      return integer(2 ** 32 - 1, "");
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return integer(Number.MAX_SAFE_INTEGER, '"');
    case ScalarType.BYTES:
      return { before: '"', absent: "", after: '"' };
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.FIXED64:
      return { before: '"', absent: "0", after: '"' };
    default:
      return { before: "", absent: "0", after: "" };
  }
}

function textsOf(desc: DescEnum): ReadonlyMap<number, string> {
  if (desc.typeName === "google.protobuf.NullValue") return new Map([[0, "null"]]);
  return new Map(Object.values(desc.value).map(({ number, jsonName }) => [number, JSON.stringify(jsonName)]));
}

function choiceForm(field: DescField, texts: ReadonlyMap<number, string>, bind: Bind, out: string): Form {
  const choices: Ascii[] = [];
  for (const [number, text] of texts) if (number >= 0 && number < 0x80) choices[number] = asciiOf(text);
  const tag = tagOf(field, WireType.Varint);
  const absent = texts.get(0) ?? "0";
  return { tag, before: "", read: `${out}.choiceOf(${after(tag)}, ${bind(choices)})`, absent, after: "" };
}

function listForm(field: DescField & { fieldKind: "list" }, bind: Bind): Form {
  const brackets = { before: "[", absent: "", after: "]" };
  const tag = tagOf(field, WireType.LengthDelimited);
  const where = `from, at, end, ${tag}`;
  if (field.listKind === "scalar" && field.scalar === ScalarType.STRING)
    return { ...brackets, tag, read: `${bind(writeStrings)}(${where})` };
  if (field.listKind === "message" && !hasCustomJson(field.message) && !field.delimitedEncoding)
    return { ...brackets, tag, read: `${bind(writeMessages)}(${where}, ${bind(typeOf(field.message))})` };
  return brackets;
}

/** Up to this number a tag has at most two bytes. */
const maxNumber = 2047;

/** A tag as {@link tagAt} gives it. */
function tagOf({ number }: DescField, wireType: WireType): number {
  const tag = (number << 3) | wireType;
  return tag < 0x80 ? tag : (tag & 0x7f) | 0x80 | ((tag >> 7) << 8);
}

/** The bytes of the next tag, the lower one first; 0 at the end. */
function tagAt(from: DataView, at: number, end: number): number {
  if (at >= end) return 0;
  const first = from.getUint8(at);
  if (first < 0x80) return first;
  return at + 1 < end ? first | (from.getUint8(at + 1) << 8) : 0;
}

/** The arguments for the value after a tag. */
function after(tag: number): string {
  return `from, at + ${sizeOf(tag)}, end`;
}

function sizeOf(tag: number): number {
  return tag < 0x80 ? 1 : 2;
}

const quote = asciiOf('"');
const betweenStrings = asciiOf('","');
const comma = asciiOf(",");

function writeStrings(from: DataView, start: number, end: number, tag: number): number {
  json.ascii(quote);
  let at = json.stringOf(from, start + sizeOf(tag), end);
  while (at !== bailOut && tagAt(from, at, end) === tag) {
    json.ascii(betweenStrings);
    at = json.stringOf(from, at + sizeOf(tag), end);
  }
  json.ascii(quote);
  return at;
}

interface EmbeddedType {
  readonly write: WireToJson<void>;
}

function writeMessages(from: DataView, start: number, end: number, tag: number, type: EmbeddedType): number {
  let at = writeEmbedded(from, start + sizeOf(tag), end, type);
  while (at !== bailOut && tagAt(from, at, end) === tag) {
    json.ascii(comma);
    at = writeEmbedded(from, at + sizeOf(tag), end, type);
  }
  return at;
}

/** Messages nested deeper are decoded. */
const maxDepth = 50;
let depth = 0;

function writeEmbedded(from: DataView, start: number, end: number, type: EmbeddedType): number {
  if (start >= end) return bailOut;
  let at = start + 1;
  let length = from.getUint8(start);
  if (length > 0x7f) {
    const second = at < end ? from.getUint8(at++) : 0xff;
    if (second > 0x7f) return bailOut;
    length = (length & 0x7f) | (second << 7);
  }
  const stop = at + length;
  if (stop > end || depth === maxDepth) return bailOut;
  depth++;
  const isWritten = type.write(from, at, stop);
  depth--;
  return isWritten ? stop : bailOut;
}
