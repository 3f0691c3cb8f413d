/**
 * Messages that are still in the wire format: what is stored goes out without becoming messages. Our writers write the bytes as they are, or as JSON. For
 * anybody else a list is an array of messages, made when it is first asked for, and a message by itself is made by {@link wholeMessage}.
 */
import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import type { Local } from "./local.ts";
import { specialise, zeroLiteral } from "./specialise.ts";
import { type ApartFields, createWireToJson, json, type WireToJson } from "./wire-to-json.ts";
import { tagOf, type WireWriter } from "./wire-writer.ts";

/** Where bytes are among others. */
export interface Place {
  readonly view: DataView<ArrayBuffer>;
  readonly start: number;
  readonly end: number;
}

/** Messages of one type, as sources hold them. */
export interface EncodedType<S> {
  /** The bytes of a message as our binary writer makes them, without the fields that are apart. */
  place(source: S): Place;
  readonly apart: ApartFields<S>;
  /** The whole message. */
  message(source: S): Message;
}

/** Gives a message whose list is what the sources hold. */
export type EncodedListMaker<S> = (sources: readonly S[]) => Message;

/** Makes messages of a type whose only repeated field of messages is a list of the encoded type; another is a bug, and throws. */
export function encodedListMaker<S>(desc: DescMessage, type: EncodedType<S>): EncodedListMaker<S> {
  const [field, ...others] = desc.fields.filter(({ fieldKind, message }) => fieldKind === "list" && message);
  if (field?.message === undefined || others.length > 0)
    throw new Error(`${desc.typeName} has no one list of messages`);
  const zero = create(desc) as unknown as Local;
  const { [field.localName]: _, ...unset } = zero;
  const prototype = Object.create(Object.getPrototypeOf(zero), {
    [field.localName]: {
      get(this: WithList) {
        return this[list]?.messages();
      },
    },
  });
  const model = Object.assign(Object.create(prototype), unset) as Local;
  const make = specialise<(encoded: EncodedList<S>) => Message>(
    "encoded",
    (bind) => `const message = ${zeroLiteral(model, bind)};\nmessage[${bind(list)}] = encoded;\nreturn message;`,
  );
  const writer = encodedWriter(field.message, type);
  return (sources) => make(new EncodedList(sources, writer));
}

const list = Symbol("encoded list");

interface WithList {
  readonly [list]?: EncodedList<never>;
}

/** The list of a message, where it is still encoded. */
export function encodedListOf(message: object): Pick<EncodedList<never>, "json" | "wire"> | undefined {
  return (message as WithList)[list];
}

/** Gives a message that is what a source holds: for our writers, others see none of its fields. */
export function encodedMessageMaker<S>(desc: DescMessage, type: EncodedType<S>): (source: S) => Message {
  const writer = encodedWriter(desc, type);
  return (source) => new EncodedMessage(desc.typeName, source, writer);
}

/** The message, decoded if it was not. */
export function wholeMessage(message: Message): Message {
  return message instanceof EncodedMessage ? message.whole() : message;
}

/** How messages of a type are written. */
interface EncodedWriter<S> {
  readonly type: EncodedType<S>;
  readonly writeJson: WireToJson<S>;
  readonly writeApart: WriteApart<S>;
}

function encodedWriter<S>(desc: DescMessage, type: EncodedType<S>): EncodedWriter<S> {
  return { type, writeJson: createWireToJson(desc, type.apart), writeApart: apartWriter(desc, type.apart) };
}

/** A message that is still encoded. */
export class EncodedMessage<S> implements Message {
  readonly $typeName: string;
  readonly #source: S;
  readonly #writer: EncodedWriter<S>;

  constructor(typeName: string, source: S, writer: EncodedWriter<S>) {
    this.$typeName = typeName;
    this.#source = source;
    this.#writer = writer;
  }

  whole(): Message {
    return this.#writer.type.message(this.#source);
  }

  /** Its JSON; `write` gives that of a message. */
  json(write: (message: Message) => string): string {
    const { type, writeJson } = this.#writer;
    const { view, start, end } = type.place(this.#source);
    json.cutTo(0); // what stopped another may have left something
    return writeJson(view, start, end, this.#source) ? json.take() : write(this.whole());
  }

  /** To the wire, without its length. */
  wire(out: WireWriter): void {
    const { type, writeApart } = this.#writer;
    writeApart(out, this.#source);
    out.raw(bytesAt(type.place(this.#source)));
  }
}

class EncodedList<S> {
  readonly #sources: readonly S[];
  readonly #writer: EncodedWriter<S>;
  #messages: Message[] | undefined;

  constructor(sources: readonly S[], writer: EncodedWriter<S>) {
    this.#sources = sources;
    this.#writer = writer;
  }

  messages(): Message[] {
    this.#messages ??= this.#sources.map((source) => this.#writer.type.message(source));
    return this.#messages;
  }

  /** The items of a JSON array; `write` gives the text of a message. */
  json(write: (message: Message) => string): string {
    const { type, writeJson } = this.#writer;
    json.cutTo(0); // what stopped another may have left something
    for (let i = 0; i < this.#sources.length; i++) {
      const source = this.#sources[i]!;
      const { view, start, end } = type.place(source);
      if (i > 0) json.text(",");
      const begin = json.at;
      if (!writeJson(view, start, end, source)) {
        json.cutTo(begin);
        json.text(write(type.message(source)));
      }
    }
    return json.take();
  }

  /** To the wire, with such a tag before each. */
  wire(out: WireWriter, tag: number): void {
    const { type, writeApart } = this.#writer;
    let size = 1;
    for (const source of this.#sources) {
      out.uint32(tag);
      const begin = out.open(size);
      writeApart(out, source);
      out.raw(bytesAt(type.place(source)));
      size = out.close(begin, size);
    }
  }
}

function bytesAt({ view, start, end }: Place): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + start, end - start);
}

type WriteApart<S> = (out: WireWriter, source: S) => void;

function apartWriter<S>(desc: DescMessage, apart: ApartFields<S>): WriteApart<S> {
  const fields = Object.entries(apart).map(([name, value]) => {
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
