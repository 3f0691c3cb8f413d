import ParsingWorker from "./worker.ts?worker";

/** As long as a text may take, in milliseconds. */
const maxMs = 5000;

/**
 * Parses Markdown beside the page. Returns the syntax tree of its HTML, hast.
 * Errors: one for a text that is nested too deeply, or takes too long.
 */
export async function parse(text: string, signal: AbortSignal): Promise<object> {
  const worker = new ParsingWorker();
  const { promise, resolve, reject } = Promise.withResolvers<object>();
  worker.onmessage = ({ data: { tree, problem } }) => (tree === undefined ? reject(new Error(problem)) : resolve(tree));
  worker.onerror = ({ message }) => reject(new Error(message));
  const limit = AbortSignal.any([signal, AbortSignal.timeout(maxMs)]);
  limit.addEventListener("abort", () => reject(limit.reason));
  worker.postMessage(text);
  try {
    return await promise;
  } finally {
    worker.terminate();
  }
}
