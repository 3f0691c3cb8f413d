/** The streams of one connection: those that are open, and the last ones that were reset. */

import { demand } from "./frame-reader.ts";
import { errors } from "./frames.ts";
import { ShortMap } from "./short-map.ts";
import type { Http2Stream } from "./stream.ts";

const maxResetIds = 100;

/** The streams of one connection. */
export class StreamTable {
  readonly #open = new ShortMap<number, Http2Stream>();
  readonly #resetIds: number[] = [];
  /** The highest id that the client has used. */
  lastId = 0;

  /** The number of open streams. */
  get size(): number {
    return this.#open.size;
  }

  get(id: number): Http2Stream | undefined {
    return this.#open.get(id);
  }

  /** An open stream; undefined if it is closed. Errors: `Http2Error` PROTOCOL_ERROR if it was never opened. */
  find(id: number): Http2Stream | undefined {
    demand(id % 2 === 1 && id <= this.lastId, errors.protocol);
    return this.#open.get(id);
  }

  add(stream: Http2Stream): void {
    this.#open.set(stream.id, stream);
  }

  delete(stream: Http2Stream): void {
    this.#open.delete(stream.id);
    if (stream.isReset) this.addReset(stream.id);
  }

  /**
   * Records that the server reset a stream. The frames that the client sent before it knew are ignored, RFC 9113
   * section 5.1.
   */
  addReset(id: number): void {
    if (this.#resetIds.push(id) > maxResetIds) this.#resetIds.shift();
  }

  /**
   * Whether the frames of a stream are ignored, because the server reset it. `stream`: that of the id, if it is open.
   */
  isReset(id: number, stream: Http2Stream | undefined): boolean {
    return stream === undefined ? this.#resetIds.includes(id) : stream.isReset;
  }

  forEach(visit: (stream: Http2Stream) => void): void {
    this.#open.forEach(visit);
  }
}
