/**
 * What a server writes to standard error and standard output. They may be a terminal that has gone, a pipe that nobody
 * reads, or a file on a full disk. Writing never waits: lines that cannot be written for long are dropped and counted.
 */
import { constants, fstatSync, openSync, writeSync } from "node:fs";

/** Lines are joined up to this size. */
const joinedBytes = 64 * 1024;
/** Lines that cannot be written are held up to this size. */
const maxHeldBytes = 1024 * 1024;
/** How often it is tried again to write them, and for how long at exit. */
const retryMs = 100;
const maxExitMs = 1000;
const lineFeed = 10;

let lost = 0;

/** How many lines of this process could not be written. */
export function lostLogLines(): number {
  return lost;
}

/**
 * Writes lines to standard output (1) or standard error (2), many as one, at most `delayMs` after the first. They are
 * kept as bytes: strings that live for a while are work for the garbage collector.
 */
export function joinedLines(to: 1 | 2, delayMs: number): { write(line: string): void } {
  const lines = Buffer.allocUnsafeSlow(maxHeldBytes); // pages that are not used take no memory
  let at = 0;
  let descriptor: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStalled = false;

  function open(): number {
    process.once("exit", () => {
      const untilMs = performance.now() + maxExitMs;
      while (!flush() && performance.now() < untilMs) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    });
    return openWithoutWaiting(to);
  }

  /** Writes what can be written now. Returns whether nothing is left. */
  function flush(): boolean {
    let from = 0;
    try {
      while (from < at) from += writeSync(descriptor!, lines, from, at - from);
    } catch (error) {
      if (!isBusy(error)) from = drop(from);
    }
    lines.copyWithin(0, from, at);
    at -= from;
    isStalled = at > 0;
    clearTimeout(timer);
    timer = isStalled ? setTimeout(flush, retryMs).unref() : undefined;
    return !isStalled;
  }

  /** Drops what is left after `from`. A line that was cut is ended. Returns where the rest begins. */
  function drop(from: number): number {
    for (let i = from; i < at; i++) if (lines[i] === lineFeed) lost++;
    const isCut = from > 0 && lines[from - 1] !== lineFeed;
    return isCut ? at - 1 : at; // the last byte is the end of a line
  }

  return {
    write(line) {
      descriptor ??= open();
      const fits = (bytes: number, most: number) => at + bytes <= most;
      const maxBytes = 3 * line.length; // in UTF-8
      if (!isStalled && !fits(maxBytes, joinedBytes)) flush();
      if (fits(maxBytes, maxHeldBytes) || fits(Buffer.byteLength(line), maxHeldBytes)) at += lines.write(line, at);
      else lost++;
      timer ??= setTimeout(flush, delayMs).unref();
    },
  };
}

/**
 * A descriptor whose writes do not wait. A terminal or a pipe is opened once more, because other processes share the
 * mode of the descriptor, and libuv changes it in each process that it starts. Where that is not possible, Node's
 * stream changes the mode of a pipe or a socket. A file is never waited for.
 */
function openWithoutWaiting(to: 1 | 2): number {
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return fstatSync(to).isFile() ? to : openSync(`/proc/self/fd/${to}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    void (to === 1 ? process.stdout : process.stderr);
    return to;
  }
}

function isBusy(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "EAGAIN" || code === "EINTR" || code === "EBUSY";
}
