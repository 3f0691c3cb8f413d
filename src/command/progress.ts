/** The progress of a command, a line on standard error. It is only shown on a terminal. */

import { printable } from "../log-text.ts";

/** A command that ends sooner has none. */
const delayMs = 1000;
/** How often it changes. */
const intervalMs = 200;

/** The line. */
export class ProgressLine {
  #nextMs = performance.now() + delayMs;
  #isShown = false;

  /** Replaces it, if it has stood for a while. It is cut at the width of the terminal. */
  show(text: () => string): void {
    const nowMs = performance.now();
    if (!process.stderr.isTTY || nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + intervalMs;
    this.#isShown = true;
    process.stderr.write(`\r\x1b[K${printable(text()).slice(0, (process.stderr.columns || 80) - 1)}`);
  }

  /** Removes it, as before other output. */
  clear(): void {
    if (this.#isShown) process.stderr.write("\r\x1b[K");
    this.#isShown = false;
  }
}
