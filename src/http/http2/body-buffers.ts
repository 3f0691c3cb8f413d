/**
 * The request bodies of one connection that are buffered for the fast path. A long body is buffered only if its bearer
 * token is known to be valid, and any only while there is room; otherwise its stream falls back, and the token is
 * verified before more is read.
 */
import { type BodyAccount, type IncomingBodies, unverifiedBytes } from "../incoming-bodies.ts";
import type { Http2Stream } from "./stream.ts";

/** The buffered bodies of one connection. */
export class BodyBuffers {
  readonly #bodies: IncomingBodies;
  readonly #account: BodyAccount;

  /** @param connection the object that stands for the connection in `bodies`. */
  constructor(bodies: IncomingBodies, connection: object) {
    this.#bodies = bodies;
    this.#account = bodies.accountOf(connection);
  }

  /** Whether a body may be buffered, by the header fields of its stream. */
  mayBegin(stream: Http2Stream): boolean {
    if (stream.declaredBytes <= unverifiedBytes) return true;
    stream.isVerified = this.#bodies.check.isVerified(stream.authorization);
    return stream.isVerified;
  }

  /** Counts a piece of a body, unless it may not be buffered. */
  hold(stream: Http2Stream, bytes: number): boolean {
    if (stream.received > unverifiedBytes) {
      stream.isVerified ||= this.#bodies.check.isVerified(stream.authorization);
      if (!stream.isVerified) return false;
    }
    if (!this.#bodies.hasRoomForUnverified(this.#account, bytes)) return false;
    this.#bodies.hold(this.#account, bytes, false);
    stream.heldBytes += bytes;
    return true;
  }

  /** Counts the body of a stream no longer. */
  release(stream: Http2Stream): void {
    if (stream.heldBytes > 0) this.#bodies.release(this.#account, stream.heldBytes, false);
    stream.heldBytes = 0;
  }
}
