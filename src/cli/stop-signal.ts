/** How a command that runs long is told to stop. */

const names = ["SIGINT", "SIGTERM"] as const;
/**
 * A signal that comes so soon after the first is the same one: Ctrl-C reaches every process of the terminal, and npm and npx pass it on to the program
 * as well.
 */
const sameSignalMs = 1000;

/**
 * A signal that the first SIGINT or SIGTERM aborts, with its name as the message of the reason. One that comes more than a second later ends the process
 * at once. `release` removes the handlers.
 */
export function stopSignal(): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  let firstMs = 0;
  const hear = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) {
      firstMs = performance.now();
      controller.abort(new DOMException(name, "AbortError"));
    } else if (performance.now() - firstMs > sameSignalMs) process.exit(130);
  };
  for (const name of names) process.on(name, hear);
  return {
    signal: controller.signal,
    release() {
      for (const name of names) process.off(name, hear);
    },
  };
}
