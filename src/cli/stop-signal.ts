/** How a command that takes long is told to stop. */

const names = ["SIGINT", "SIGTERM"] as const;

/** A signal that the first SIGINT or SIGTERM aborts; a second one ends the process. `release` takes notice no longer. */
export function stopSignal(): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const release = () => {
    for (const name of names) process.off(name, stop);
  };
  const stop = () => {
    release();
    controller.abort();
  };
  for (const name of names) process.on(name, stop);
  return { signal: controller.signal, release };
}
