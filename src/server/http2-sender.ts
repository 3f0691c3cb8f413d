/**
 * What a client of HTTP/2 is sent: frames in the order in which they are given, content as far as windows allow, RFC 9113 section 5.2. A response
 * that has no window waits in frames. What is sent during one reading, or one turn of the event loop, goes to the socket in one piece.
 */
import type { Socket } from "node:net";
import { defaultWindow, frame, headBytes, types } from "./http2-frames.ts";
import type { LaneStream } from "./http2-stream.ts";
import type { Share, SharedBytes } from "./shared-bytes.ts";

/** So many bytes go to the socket at once, before more is read. */
const maxHeldBytes = 256 * 1024;

/** Sends on one connection. */
export class Http2Sender {
  readonly #socket: Socket;
  readonly #onSent: (stream: LaneStream) => void;
  #window = defaultWindow;
  /** Those whose frames wait for a window; the first is served first. */
  readonly #waiting: LaneStream[] = [];
  #isWidened = false;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isFlushDue = false;
  /** What the system had taken, in whole pieces, and since when it takes the next. */
  #takenBytes = 0;
  #takenMs = performance.now();
  /** What waits for windows, in bytes. An answer in one piece counts until all of it is sent: so long all of it is kept. */
  #waitingBytes = 0;
  /** What is not with the system yet. */
  readonly share: Share;
  /** Content that has been sent, in bytes, until somebody takes account of it. */
  sentBytes = 0;
  /** Streams that are over, but whose last frames the socket does not have. */
  unsentStreams = 0;

  /**
   * @param unsent what all connections may have that is not sent.
   * @param onSent told when nothing of a stream waits any more; of a stream that is over perhaps more than once.
   */
  constructor(socket: Socket, unsent: SharedBytes, onSent: (stream: LaneStream) => void) {
    this.#socket = socket;
    this.share = unsent.share(socket);
    this.#onSent = onSent;
  }

  /** Sends frames of a stream, of which `contentBytes` count for flow control. */
  send(stream: LaneStream, frames: Buffer, contentBytes: number): void {
    const { waiting } = stream;
    if (waiting.length === 0 && contentBytes <= Math.min(this.#window, stream.window)) {
      this.control(frames);
      this.#charge(stream, contentBytes);
      this.#onSent(stream);
      return;
    }
    if (waiting.length === 0) this.#waiting.push(stream);
    stream.wait(frames);
    this.#waitingBytes += frames.length;
    this.#sendWaitingOf(stream);
    this.#count();
  }

  /** Sends frames that count for no window. */
  control(frames: Buffer): void {
    this.#held.push(frames);
    this.#heldBytes += frames.length;
    if (this.#heldBytes > maxHeldBytes) this.flush();
    if (!this.#isFlushDue) process.nextTick(this.flush);
    this.#isFlushDue = true;
  }

  /** Has what is sent wait for {@link flush}. */
  hold(): void {
    this.#isFlushDue = true;
  }

  readonly flush = (): void => {
    this.#isFlushDue = false;
    this.unsentStreams = 0;
    this.#heldBytes = 0;
    const frames = this.#held.splice(0);
    if (!this.#socket.destroyed && !this.#socket.writableEnded && frames.length > 0)
      this.#socket.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames));
    this.#count();
  };

  #count(): void {
    this.share.set(this.#waitingBytes + this.#heldBytes + this.#socket.writableLength);
  }

  /** Widens the connection's window. Gives how wide it is now. */
  widen(bytes: number): number {
    this.#isWidened = true;
    this.#window += bytes;
    return this.#window;
  }

  /** Widens a stream's window, or narrows it. Gives how wide it is now. */
  widenStream(stream: LaneStream, bytes: number): number {
    this.#isWidened = true;
    stream.window += bytes;
    return stream.window;
  }

  /** Sends what waits as far as the windows allow that were widened, each time another stream first. */
  sendWaiting(): void {
    if (!this.#isWidened) return;
    this.#isWidened = false;
    this.#waiting.push(...this.#waiting.splice(0, 1));
    for (const stream of [...this.#waiting]) if (stream.waiting.length > 0) this.#sendWaitingOf(stream);
  }

  #sendWaitingOf(stream: LaneStream): void {
    const { waiting } = stream;
    while (waiting.length > 0) {
      const next = waiting[0]!;
      const contentBytes = contentBytesOf(next);
      const allowedBytes = Math.min(contentBytes, Math.max(0, Math.min(this.#window, stream.window)));
      if (allowedBytes < contentBytes) {
        if (allowedBytes > 0) this.#sendPart(stream, next, allowedBytes);
        return;
      }
      waiting.shift();
      if (waiting.length === 0) this.#waiting.splice(this.#waiting.indexOf(stream), 1);
      this.#waitingBytes -= stream.release(next.length);
      this.control(next);
      this.#charge(stream, contentBytes);
    }
    this.#onSent(stream);
  }

  /** Sends the beginning of a DATA frame, and has the rest wait. */
  #sendPart(stream: LaneStream, data: Buffer, contentBytes: number): void {
    const end = headBytes + contentBytes;
    this.control(frame(types.data, 0, stream.id, data.subarray(headBytes, end)));
    stream.waiting[0] = frame(types.data, data[4]!, stream.id, data.subarray(end));
    this.#waitingBytes -= stream.release(contentBytes);
    this.#charge(stream, contentBytes);
  }

  /** What is sent counts from now on. Node may be credited, and send more at once. */
  #charge(stream: LaneStream, contentBytes: number): void {
    this.sentBytes += contentBytes;
    this.#window -= contentBytes;
    stream.window -= contentBytes;
    stream.bridge?.sent(contentBytes);
  }

  /** Forgets what waits of a stream. */
  drop(stream: LaneStream): void {
    if (stream.waiting.length === 0) return;
    this.#waiting.splice(this.#waiting.indexOf(stream), 1);
    for (const frames of stream.waiting.splice(0)) {
      this.#waitingBytes -= stream.release(frames.length);
      stream.bridge?.sent(contentBytesOf(frames));
    }
    this.#count();
  }

  /** For how long the system has been taking the piece that the socket sends, in milliseconds: how much of it, nobody tells. */
  takingMs(nowMs: number): number {
    const { writableLength, bytesWritten } = this.#socket;
    if (writableLength === 0 || bytesWritten - writableLength !== this.#takenBytes) {
      this.#takenBytes = bytesWritten - writableLength;
      this.#takenMs = nowMs;
    }
    return nowMs - this.#takenMs;
  }
}

/** What a frame counts for flow control. */
function contentBytesOf(frame: Buffer): number {
  return frame[3] === types.data ? frame.length - headBytes : 0;
}
