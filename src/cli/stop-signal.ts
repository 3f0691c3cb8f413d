/** How a command that runs long is told to stop. */

const names = ["SIGINT", "SIGTERM"] as const;

/**
 * A signal that the first SIGINT or SIGTERM aborts, with its name as the message of the reason; a second one ends the process at once. `release` takes
 * notice no longer.
 */
export function stopSignal(): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const hear = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort(new DOMException(name, "AbortError"));
  };
  for (const name of names) process.on(name, hear);
  return {
    signal: controller.signal,
    release() {
      for (const name of names) process.off(name, hear);
    },
  };
}
