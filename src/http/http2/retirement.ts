/** The end of a connection by GOAWAY, RFC 9113 section 6.8. */
import { errors, frame, maxWindow, numbersFrame, types } from "./frames.ts";

const pingPayload = Buffer.alloc(8);

/** How far the end has come. */
export class Retirement {
  /** The client has been asked to open no more streams. Those that it opens before it knows are served. */
  isAnnounced = false;
  /** No more streams are opened. */
  isFinal = false;
  #lastId: number | undefined;

  get hasBegun(): boolean {
    return this.isAnnounced || this.isFinal;
  }

  /** Asks the client to open no more streams. Returns the frames; when the PING is answered, the client knows. */
  announce(): Buffer {
    this.isAnnounced = true;
    return Buffer.concat([numbersFrame(types.goAway, 0, maxWindow, errors.none), frame(types.ping, 0, 0, pingPayload)]);
  }

  /** Names the last stream that is served; later it cannot be another one. Returns the frame. */
  goAway(lastId: number, code: number): Buffer {
    this.isFinal = true;
    this.#lastId ??= lastId;
    return numbersFrame(types.goAway, 0, this.#lastId, code);
  }
}
