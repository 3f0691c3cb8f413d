/**
 * Messages that stay in the wire format from the database to the client. Writers copy the bytes, or turn them into JSON
 * without decoding them. All other code decodes: a stored message by {@link wholeMessage}, a stored list by reading its
 * field, which becomes an array of messages when it is first read.
 */
import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { compileFunction, zeroLiteral } from "../compile/compile-function.ts";
import { type LocalMessage, newMessage } from "../message-fields.ts";
import { tagOf, type WireWriter } from "../wire/writer.ts";
import { createWireToJson, json, type SuppliedFields, type WireToJson } from "./wire-to-json.ts";

/** Some of the bytes of a view: those from `start` to before `end`. */
export interface ByteRange {
  readonly view: DataView<ArrayBuffer>;
  readonly start: number;
  readonly end: number;
}

/** How messages of one type are stored in sources such as rows. */
export interface StoredType<S> {
  /** The message as our binary writer encodes it, without the supplied fields. */
  bytes(source: S): ByteRange;
  readonly supplied: SuppliedFields<S>;
  /** The whole message. */
  message(source: S): Message;
}

/** Returns a message whose list is what the sources hold. */
export type StoredListMaker<S> = (sources: readonly S[]) => Message;

/** Returns the message that a source holds. */
export type StoredMessageMaker<S> = (source: S) => StoredMessage;

/**
 * Makes responses whose only list of messages is of the stored type.
 * Throws for a type with no list of messages, or with several.
 */
export function storedListMaker<S>(desc: DescMessage, type: StoredType<S>): StoredListMaker<S> {
  const [field, ...others] = desc.fields.filter(({ fieldKind, message }) => fieldKind === "list" && message);
  if (field?.message === undefined || others.length > 0)
    throw new Error(`${desc.typeName} has no one list of messages`);
  const prototype = Object.create(Object.getPrototypeOf(create(desc)), {
    [field.localName]: {
      get(this: WithList) {
        return this[list]?.messages();
      },
    },
  });
  const withoutList = (): LocalMessage => {
    const { [field.localName]: _, ...unset } = newMessage(desc);
    return Object.assign(Object.create(prototype), unset);
  };
  const model = withoutList();
  const make = compileFunction<(stored: StoredList<S>) => Message>(
    "stored",
    (bind) => `const message = ${zeroLiteral(model, bind)};\nmessage[${bind(list)}] = stored;\nreturn message;`,
    () => (stored) => Object.assign(withoutList(), { [list]: stored }),
  );
  const writer = storedWriter(field.message, type);
  return (sources) => make(new StoredList(sources, writer));
}

const list = Symbol("stored list");

interface WithList {
  readonly [list]?: StoredList<never>;
}

/** The list of a message, where it is stored. */
export function storedListOf(message: object): Pick<StoredList<never>, "json" | "wire"> | undefined {
  return (message as WithList)[list];
}

/** Makes stored messages of a type. */
export function storedMessageMaker<S>(desc: DescMessage, type: StoredType<S>): StoredMessageMaker<S> {
  const writer = storedWriter(desc, type);
  return (source) => new StoredMessage(source as never, writer);
}

/** The message, decoded if it was stored. */
export function wholeMessage(message: Message | StoredMessage): Message {
  return message instanceof StoredMessage ? StoredMessage.whole(message) : message;
}

/** Whether a message is stored. */
export function isStored(message: object): message is StoredMessage {
  return message instanceof StoredMessage;
}

/** How messages of a type are written. */
interface StoredWriter<S> {
  readonly type: StoredType<S>;
  readonly writeJson: WireToJson<S>;
  readonly writeSupplied: WriteSupplied<S>;
}

function storedWriter<S>(desc: DescMessage, type: StoredType<S>): StoredWriter<S> {
  return { type, writeJson: createWireToJson(desc, type.supplied), writeSupplied: suppliedWriter(desc, type.supplied) };
}

/** A message in stored form. It has no members to read; {@link wholeMessage} decodes it. */
export class StoredMessage {
  readonly #source: never;
  readonly #writer: StoredWriter<never>;

  constructor(source: never, writer: StoredWriter<never>) {
    this.#source = source;
    this.#writer = writer;
  }

  static whole(message: StoredMessage): Message {
    return message.#writer.type.message(message.#source);
  }

  /** The JSON of a message; `write` returns that of a decoded one. */
  static json(message: StoredMessage, write: (message: Message) => string): string {
    const { type, writeJson } = message.#writer;
    const { view, start, end } = type.bytes(message.#source);
    json.cutTo(0); // an error may have left something
    return writeJson(view, start, end, message.#source) ? json.take() : write(StoredMessage.whole(message));
  }

  /** Writes a message to the wire, without its length. */
  static wire(message: StoredMessage, out: WireWriter): void {
    const { type, writeSupplied } = message.#writer;
    writeSupplied(out, message.#source);
    out.raw(bytesAt(type.bytes(message.#source)));
  }
}

class StoredList<S> {
  readonly #sources: readonly S[];
  readonly #writer: StoredWriter<S>;
  #messages: Message[] | undefined;

  constructor(sources: readonly S[], writer: StoredWriter<S>) {
    this.#sources = sources;
    this.#writer = writer;
  }

  messages(): Message[] {
    this.#messages ??= this.#sources.map((source) => this.#writer.type.message(source));
    return this.#messages;
  }

  /** The items of a JSON array; `write` returns the text of a decoded message. */
  json(write: (message: Message) => string): string {
    const { type, writeJson } = this.#writer;
    json.cutTo(0); // an error may have left something
    for (let i = 0; i < this.#sources.length; i++) {
      const source = this.#sources[i]!;
      const { view, start, end } = type.bytes(source);
      if (i > 0) json.text(",");
      const begin = json.at;
      if (!writeJson(view, start, end, source)) {
        json.cutTo(begin);
        json.text(write(type.message(source)));
      }
    }
    return json.take();
  }

  /** Writes the items to the wire, each after this tag and its length. */
  wire(out: WireWriter, tag: number): void {
    const { type, writeSupplied } = this.#writer;
    let size = 1;
    for (const source of this.#sources) {
      out.uint32(tag);
      const begin = out.open(size);
      writeSupplied(out, source);
      out.raw(bytesAt(type.bytes(source)));
      size = out.close(begin, size);
    }
  }
}

function bytesAt({ view, start, end }: ByteRange): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + start, end - start);
}

type WriteSupplied<S> = (out: WireWriter, source: S) => void;

function suppliedWriter<S>(desc: DescMessage, supplied: SuppliedFields<S>): WriteSupplied<S> {
  const fields = Object.entries(supplied).map(([name, value]) => {
    const { number } = desc.field[name] as DescField;
    return { tag: tagOf(number, WireType.LengthDelimited), value };
  });
  return (out, source) => {
    for (const { tag, value } of fields) {
      out.uint32(tag);
      if ("text" in value) out.string(value.text(source));
      else out.timestamp(value.timeUs(source));
    }
  };
}
