/** Splits a stream of bytes into lines, for JSON Lines (https://jsonlines.org). */

/** A line, numbered from 1. `bytes` is undefined if the line is longer than the limit. */
export interface Line {
  readonly number: number;
  readonly bytes: Uint8Array | undefined;
}

const lineFeed = 0x0a;

/** The lines that are not blank. Buffers at most `maxBytes`. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Line> {
  let number = 1;
  let buffered: Uint8Array[] = [];
  let length = 0;

  function* endLine(rest: Uint8Array): Generator<Line> {
    append(rest);
    if (length > maxBytes) yield { number, bytes: undefined };
    else {
      const bytes = buffered.length === 1 ? buffered[0]! : Buffer.concat(buffered, length);
      if (!isBlank(bytes)) yield { number, bytes };
    }
    number += 1;
    buffered = [];
    length = 0;
  }

  function append(bytes: Uint8Array): void {
    length += bytes.length;
    if (length > maxBytes) buffered = [];
    else buffered.push(bytes);
  }

  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      yield* endLine(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) append(chunk.subarray(start));
  }
  yield* endLine(new Uint8Array());
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
