/** Stops long-running commands on SIGINT and SIGTERM. */

const names = ["SIGINT", "SIGTERM"] as const;
/**
 * A second signal within this time is a duplicate: Ctrl-C reaches every process of the terminal, and npm and npx
 * forward it to the program.
 */
const duplicateMs = 1000;

/**
 * An AbortSignal that the first SIGINT or SIGTERM aborts, with the signal's name as message of the reason, or a call of
 * `stop` with that message. Another signal after more than a second ends the process at once. `release` removes the
 * handlers.
 */
export function stopSignal(): { readonly signal: AbortSignal; stop(reason: string): void; release(): void } {
  const controller = new AbortController();
  let firstMs = 0;
  const stop = (reason: string) => controller.abort(new DOMException(reason, "AbortError"));
  const handle = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) {
      firstMs = performance.now();
      stop(name);
    } else if (performance.now() - firstMs > duplicateMs) process.exit(130);
  };
  for (const name of names) process.on(name, handle);
  return {
    signal: controller.signal,
    stop,
    release() {
      for (const name of names) process.off(name, handle);
    },
  };
}
