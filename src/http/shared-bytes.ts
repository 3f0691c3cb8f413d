/**
 * Memory that connections share. A connection may hold as much as is free, and never more than the limit of a share. So
 * a few large shares leave room for later connections, and many large shares are each smaller, as a switch divides its
 * buffers ("dynamic thresholds"). If no memory is free for long, the connections are closed that would take longest to
 * release theirs.
 */
import type { Duplex } from "node:stream";
import type { Turn } from "./turns.ts";

/** A connection with the number of bytes that it was given to send. */
export type Connection = Duplex & { readonly bytesWritten: number };

/** The sum over all connections. */
export class SharedBytes {
  readonly #maxBytes: number;
  readonly #maxShareBytes: number;
  readonly #shares = new Set<Share>();
  /** Turns that are resumed when memory is released. */
  readonly #waiting = new Set<Turn>();
  #usedBytes = 0;
  #wasFull = false;

  constructor(maxBytes: number, maxShareBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxShareBytes = maxShareBytes;
  }

  /** Creates the share of a connection. It ends when the connection is closed. */
  share(socket: Connection): Share {
    const share = new Share(this, socket);
    this.#shares.add(share);
    socket.once("close", () => {
      share.set(0);
      this.#shares.delete(share);
    });
    return share;
  }

  /** The maximum size of a share now. */
  get allowedBytes(): number {
    return Math.min(this.#maxShareBytes, this.#maxBytes - this.#usedBytes);
  }

  add(bytes: number): void {
    this.#usedBytes += bytes;
    if (bytes >= 0) return;
    for (const turn of this.#waiting) {
      this.#waiting.delete(turn);
      turn.wait();
      return;
    }
  }

  /** Resumes a turn when memory is released. */
  wait(turn: Turn): void {
    this.#waiting.add(turn);
  }

  /** Closes the slowest connections if no memory is free now and at the last check. To be called at intervals. */
  check(): void {
    const isFull = this.allowedBytes <= 0;
    for (const share of this.#shares) share.check();
    if (isFull && this.#wasFull) this.#closeSlowest();
    this.#wasFull = isFull;
    // The turn that was resumed at the last release may not have used the memory.
    for (const turn of this.#waiting) turn.wait();
    this.#waiting.clear();
  }

  #closeSlowest(): void {
    let tooMany = this.#usedBytes - this.#maxBytes * (7 / 8);
    for (const share of [...this.#shares].sort((a, b) => b.slowness - a.slowness)) {
      if (tooMany <= 0) return;
      tooMany -= share.bytes;
      share.socket.destroy();
    }
  }
}

/** The memory of one connection. */
class Share {
  readonly #all: SharedBytes;
  readonly socket: Connection;
  bytes = 0;
  /** What the client had taken at the last check, and between the last two checks. */
  #takenBytes = 0;
  #newlyTakenBytes = 0;

  constructor(all: SharedBytes, socket: Connection) {
    this.#all = all;
    this.socket = socket;
  }

  set(bytes: number): void {
    const held = this.socket.destroyed ? 0 : bytes;
    if (held === this.bytes) return;
    const more = held - this.bytes;
    this.bytes = held;
    this.#all.add(more);
  }

  /**
   * Whether there is room besides these bytes and `expectedBytes`; otherwise the turn is resumed when memory is
   * released.
   */
  hasRoomOrWaits(expectedBytes: number, turn: Turn): boolean {
    if (this.bytes + expectedBytes < this.#all.allowedBytes) return true;
    this.#all.wait(turn);
    return false;
  }

  /** Whether so many bytes may be added. A negative number is always allowed. */
  fits(bytes: number): boolean {
    return bytes <= 0 || this.bytes + bytes <= this.#all.allowedBytes;
  }

  check(): void {
    const takenBytes = this.socket.bytesWritten - this.socket.writableLength;
    this.#newlyTakenBytes = takenBytes - this.#takenBytes;
    this.#takenBytes = takenBytes;
  }

  /** How long the share would take to become empty, at the speed between the last two checks. */
  get slowness(): number {
    return this.bytes / (this.#newlyTakenBytes + 1);
  }
}

export type { Share };
