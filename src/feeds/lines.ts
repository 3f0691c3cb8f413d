/** Lines of a stream of bytes, each on its own: JSON lines (https://jsonlines.org). */

/** One line, counted from 1; without bytes when it is longer than allowed. */
export interface Line {
  readonly number: number;
  readonly bytes: Uint8Array | undefined;
}

const lineFeed = 0x0a;

/** The lines that hold anything but white space. No more than `maxBytes` of one is ever held. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Line> {
  let number = 1;
  let held: Uint8Array[] = [];
  let length = 0;

  function* take(rest: Uint8Array): Generator<Line> {
    hold(rest);
    if (length > maxBytes) yield { number, bytes: undefined };
    else {
      const bytes = held.length === 1 ? held[0]! : Buffer.concat(held, length);
      if (!isBlank(bytes)) yield { number, bytes };
    }
    number += 1;
    held = [];
    length = 0;
  }

  function hold(bytes: Uint8Array): void {
    length += bytes.length;
    if (length > maxBytes) held = [];
    else held.push(bytes);
  }

  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      yield* take(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) hold(chunk.subarray(start));
  }
  yield* take(new Uint8Array());
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
