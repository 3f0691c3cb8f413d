/**
 * Memory that connections share. Each may hold as much as is left for the others, and never more than a share's limit: so few that hold much leave
 * room for those who come later, and many that hold much get less each, as the buffers of a switch are divided ("dynamic thresholds"). When nothing
 * is left for long, the connections are closed that take longest to give back what they hold.
 */
import type { Duplex } from "node:stream";
import type { Turn } from "./turns.ts";

/** A connection, which tells how much it has been given to send. */
export type Connection = Duplex & { readonly bytesWritten: number };

/** The sum over all connections. */
export class SharedBytes {
  readonly #maxBytes: number;
  readonly #maxShareBytes: number;
  readonly #shares = new Set<Share>();
  /** Those that may have something to begin when there is room. */
  readonly #waiting = new Set<Turn>();
  #usedBytes = 0;
  #wasFull = false;

  constructor(maxBytes: number, maxShareBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxShareBytes = maxShareBytes;
  }

  /** The share of a connection, until that is closed. */
  share(socket: Connection): Share {
    const share = new Share(this, socket);
    this.#shares.add(share);
    socket.once("close", () => {
      share.set(0);
      this.#shares.delete(share);
    });
    return share;
  }

  /** What a share may hold now. */
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

  /** Has a turn come when there may be room. */
  wait(turn: Turn): void {
    this.#waiting.add(turn);
  }

  /** To be called now and then. */
  check(): void {
    const isFull = this.allowedBytes <= 0;
    for (const share of this.#shares) share.look();
    if (isFull && this.#wasFull) this.#closeSlowest();
    this.#wasFull = isFull;
    for (const turn of this.#waiting) turn.wait(); // a turn that was told of room may have had no use for it
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

/** What one connection holds. */
class Share {
  readonly #all: SharedBytes;
  readonly socket: Connection;
  bytes = 0;
  /** What the client had taken when this was last looked at, and between the last two looks. */
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

  /** Whether something of unknown size may be added to these bytes and so many that are expected; otherwise a turn comes when there may be room. */
  hasRoomOrWaits(expectedBytes: number, turn: Turn): boolean {
    if (this.bytes + expectedBytes < this.#all.allowedBytes) return true;
    this.#all.wait(turn);
    return false;
  }

  /** Whether so many bytes may be added; fewer always may. */
  fits(bytes: number): boolean {
    return bytes <= 0 || this.bytes + bytes <= this.#all.allowedBytes;
  }

  look(): void {
    const takenBytes = this.socket.bytesWritten - this.socket.writableLength;
    this.#newlyTakenBytes = takenBytes - this.#takenBytes;
    this.#takenBytes = takenBytes;
  }

  /** How long it would take to give back all, going on as between the last two looks. */
  get slowness(): number {
    return this.bytes / (this.#newlyTakenBytes + 1);
  }
}

export type { Share };
