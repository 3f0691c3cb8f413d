/**
 * Sends frames on one connection, in order, and content as far as the windows allow, RFC 9113 section 5.2. A response
 * without a window waits as frames. The frames of one read, or of one turn of the event loop, are passed to the socket
 * in one piece.
 */
import type { Socket } from "node:net";
import type { Share, SharedBytes } from "../shared-bytes.ts";
import type { FrameBudgets } from "./abuse-budget.ts";
import { defaultWindow, frame, headBytes, numbersFrame, types } from "./frames.ts";
import type { Http2Stream } from "./stream.ts";

/** Above it frames are passed to the socket at once. */
const maxHeldBytes = 256 * 1024;

/** The frames that are sent on one connection. */
export class SendQueue {
  readonly #socket: Socket;
  readonly #budgets: FrameBudgets;
  readonly #onSent: (stream: Http2Stream) => void;
  #window = defaultWindow;
  /** Streams whose frames wait for a window. The first is sent first. */
  readonly #waiting: Http2Stream[] = [];
  #isWidened = false;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isFlushDue = false;
  /** How many bytes the system had taken when it began to take the current piece, and when that was. */
  #takenBytes = 0;
  #takenMs = performance.now();
  /**
   * Bytes that wait for windows. A response in one piece counts until all of it is sent, since it is kept until then.
   */
  #waitingBytes = 0;
  /** Counts the bytes that the system has not taken. */
  readonly share: Share;
  /** Streams that are over and whose last frames have not been passed to the socket. */
  unsentStreams = 0;

  /**
   * @param unsent counts the bytes of responses that are not sent yet.
   * @param onSent called when no frame of a stream waits any more, also repeatedly, and for a stream that is over.
   */
  constructor(socket: Socket, unsent: SharedBytes, budgets: FrameBudgets, onSent: (stream: Http2Stream) => void) {
    this.#socket = socket;
    this.#budgets = budgets;
    this.share = unsent.share(socket);
    this.#onSent = onSent;
  }

  /** Sends frames of a stream, of which `contentBytes` count for flow control. */
  send(stream: Http2Stream, frames: Buffer, contentBytes: number): void {
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

  reset(id: number, code: number): void {
    this.control(numbersFrame(types.reset, id, code));
  }

  /** Holds frames until {@link flush}. */
  hold(): void {
    this.#isFlushDue = true;
  }

  readonly flush = (): void => {
    this.#isFlushDue = false;
    this.unsentStreams = 0;
    this.#heldBytes = 0;
    const frames = this.#held;
    if (frames.length > 0) this.#held = [];
    if (!this.#socket.destroyed && !this.#socket.writableEnded && frames.length > 0)
      this.#socket.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames));
    this.#count();
  };

  #count(): void {
    this.share.set(this.#waitingBytes + this.#heldBytes + this.#socket.writableLength);
  }

  /** Widens the connection's window and returns it. */
  widen(bytes: number): number {
    this.#isWidened = true;
    this.#window += bytes;
    return this.#window;
  }

  /** Widens a stream's window, or narrows it, and returns it. */
  widenStream(stream: Http2Stream, bytes: number): number {
    this.#isWidened = true;
    stream.window += bytes;
    return stream.window;
  }

  /** Sends waiting frames if a window was widened, each time another stream first. */
  sendWaiting(): void {
    if (!this.#isWidened) return;
    this.#isWidened = false;
    this.#waiting.push(...this.#waiting.splice(0, 1));
    for (const stream of [...this.#waiting]) if (stream.waiting.length > 0) this.#sendWaitingOf(stream);
  }

  #sendWaitingOf(stream: Http2Stream): void {
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

  /** Sends the beginning of a DATA frame. The rest waits. */
  #sendPart(stream: Http2Stream, data: Buffer, contentBytes: number): void {
    const end = headBytes + contentBytes;
    this.control(frame(types.data, 0, stream.id, data.subarray(headBytes, end)));
    stream.waiting[0] = frame(types.data, data[4]!, stream.id, data.subarray(end));
    this.#waitingBytes -= stream.release(contentBytes);
    this.#charge(stream, contentBytes);
  }

  /** Charges the windows. Node may be credited, and send more at once. */
  #charge(stream: Http2Stream, contentBytes: number): void {
    this.#budgets.sentBytes += contentBytes;
    this.#window -= contentBytes;
    stream.window -= contentBytes;
    stream.bridge?.sent(contentBytes);
  }

  /** Drops the waiting frames of a stream. */
  drop(stream: Http2Stream): void {
    if (stream.waiting.length === 0) return;
    this.#waiting.splice(this.#waiting.indexOf(stream), 1);
    for (const frames of stream.waiting.splice(0)) {
      this.#waitingBytes -= stream.release(frames.length);
      stream.bridge?.sent(contentBytesOf(frames));
    }
    this.#count();
  }

  /**
   * For how long the system has been taking the current piece, in milliseconds. How much of it has been taken is not
   * known.
   */
  takingMs(nowMs: number): number {
    const { writableLength, bytesWritten } = this.#socket;
    if (writableLength === 0 || bytesWritten - writableLength !== this.#takenBytes) {
      this.#takenBytes = bytesWritten - writableLength;
      this.#takenMs = nowMs;
    }
    return nowMs - this.#takenMs;
  }
}

/** The number of bytes of a frame that count for flow control. */
function contentBytesOf(frame: Buffer): number {
  return frame[3] === types.data ? frame.length - headBytes : 0;
}
