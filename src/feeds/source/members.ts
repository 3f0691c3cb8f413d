/** Splits a stream of bytes, one JSON object, into its members, so that an object of any size can be read. */
import { FeedRefusal } from "./refusal.ts";

/** A member of an object. */
export interface Member {
  /** The first characters of the member, for messages. */
  readonly name: string;
  /** An object with this member only; undefined if it is larger than the limit. */
  readonly bytes: Uint8Array | undefined;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const maxNameLength = 60;

/**
 * The members of an object, in their order. Brackets and quotes are followed, the rest of the syntax is not checked.
 * Buffers at most `maxBytes`. Errors: FeedRefusal if the stream is no object, ends before it does, or goes on after it.
 */
export async function* membersOf(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Member> {
  const splitter = new Splitter(maxBytes);
  for await (const chunk of chunks) yield* splitter.split(chunk);
  splitter.end();
}

/** Follows the brackets and quotes of an object. */
class Splitter {
  readonly #maxBytes: number;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #hasBegun = false;
  #buffered: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The members that end in a chunk. */
  *split(chunk: Uint8Array): Generator<Member> {
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (this.#isInText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === backslash) this.#isEscaped = true;
        else if (byte === quote) this.#isInText = false;
        continue;
      }
      if (this.#depth === 0) {
        this.#outside(byte);
        start = i + 1;
      } else if (byte === quote) this.#isInText = true;
      else if (byte === openBrace || byte === openBracket) this.#depth++;
      else if (this.#depth === 1 && (byte === comma || byte === closeBrace)) {
        this.#append(chunk.subarray(start, i));
        yield* this.#member();
        start = i + 1;
        if (byte === closeBrace) this.#depth = 0;
      } else if (byte === closeBrace || byte === closeBracket) this.#depth--;
    }
    if (this.#depth > 0) this.#append(chunk.subarray(start));
  }

  /** Errors: FeedRefusal if the object has not ended. */
  end(): void {
    if (!this.#hasBegun) throw new FeedRefusal("is empty");
    if (this.#depth > 0) throw new FeedRefusal("is not JSON: the object does not end");
  }

  /** Before and after the object. */
  #outside(byte: number): void {
    if (isBlank(byte)) return;
    if (this.#hasBegun) throw new FeedRefusal("is not JSON: something follows the object");
    // A byte order mark may come first.
    if (byte === 0xef || byte === 0xbb || byte === 0xbf) return;
    if (byte !== openBrace) throw new FeedRefusal("is not a JSON object");
    this.#hasBegun = true;
    this.#depth = 1;
  }

  #append(bytes: Uint8Array): void {
    const isFirst = this.#buffered.length === 0;
    this.#length += bytes.length;
    if (this.#length <= this.#maxBytes || isFirst) this.#buffered.push(bytes);
    else if (this.#buffered.length > 1) this.#buffered.splice(1);
  }

  *#member(): Generator<Member> {
    const isTooLarge = this.#length > this.#maxBytes;
    const bytes = Buffer.concat([Buffer.of(openBrace), ...this.#buffered, Buffer.of(closeBrace)]);
    [this.#buffered, this.#length] = [[], 0];
    if (bytes.every((byte, i) => i === 0 || i === bytes.length - 1 || isBlank(byte))) return;
    const name = Buffer.from(bytes.subarray(1, 1 + 4 * maxNameLength))
      .toString()
      .trimStart();
    yield { name: /^"([^"]{0,60})/.exec(name)?.[1] ?? "", bytes: isTooLarge ? undefined : bytes };
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}
