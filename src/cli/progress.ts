/** The line on a terminal, on standard error, that tells how far a command is. Anything else is told nothing. */

/** How often it changes. */
const intervalMs = 200;

/** The line. */
export class ProgressLine {
  #nextMs = 0;
  #isShown = false;

  /** Replaces it, if it has stood for a while. */
  show(text: () => string): void {
    const nowMs = performance.now();
    if (!process.stderr.isTTY || nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + intervalMs;
    this.#isShown = true;
    process.stderr.write(`\r\x1b[K${text()}`);
  }

  /** Removes it. */
  clear(): void {
    if (this.#isShown) process.stderr.write("\r\x1b[K");
    this.#isShown = false;
  }
}
