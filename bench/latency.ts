/** How long calls take that begin at fixed times. */
import { type Agent, get } from "node:http";

/** A GET request. */
export interface Load {
  readonly port: number;
  readonly path: string;
  readonly token: string;
}

/**
 * Makes calls at fixed times. Returns how long after their time they had ended, in milliseconds, and how many were not
 * answered 200.
 */
export async function timesOf(
  seconds: number,
  everyMs: number,
  call: () => Promise<number>,
): Promise<{ readonly ms: number[]; readonly refused: number }> {
  const ms: number[] = [];
  let refused = 0;
  const calls: Promise<void>[] = [];
  const startMs = performance.now();
  for (let dueMs = startMs; dueMs < startMs + seconds * 1000; dueMs += everyMs) {
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    calls.push(
      call().then((status) => {
        if (status !== 200) refused++;
        ms.push(performance.now() - dueMs);
      }),
    );
  }
  await Promise.all(calls);
  return { ms, refused };
}

/** The status of the answer. */
export function statusOf({ port, path, token }: Load, agent: Agent | false): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    get({ host: "127.0.0.1", port, path, headers, agent }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode!));
    }).once("error", reject);
  });
}
