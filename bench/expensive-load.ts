/**
 * A process that makes expensive calls until it is killed: each of its connections in a loop, or bursts of calls that
 * it cancels.
 *
 *     node bench/expensive-load.ts loop PORT TOKEN PATH CONNECTIONS
 *     node bench/expensive-load.ts cancel PORT TOKEN PATH
 *
 * In a loop, when it ends, it reports to its parent how many of its calls have been answered 200, and how many
 * otherwise.
 */

import { Agent, get } from "node:http";
import { setPriority } from "node:os";

/** Clients are on other machines: here they leave the processors to the server and to the measured client. */
setPriority(10);

const [kind, port, token, path, connections] = process.argv.slice(2);
const options = { host: "127.0.0.1", port, path, headers: { authorization: `Bearer ${token}` } };
const burst = { calls: 200, everyMs: 1000, minMs: 5, maxMs: 50 };
const answers = { served: 0, refused: 0 };

process.on("SIGTERM", () => process.send!(answers, () => process.exit()));
if (kind === "loop") {
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < Number(connections); i++) void callForever(agent);
} else {
  cancelBurst();
  setInterval(cancelBurst, burst.everyMs);
}

async function callForever(agent: Agent): Promise<never> {
  for (;;) {
    const status = await new Promise((resolve, reject) => {
      get({ ...options, agent }, (answer) => {
        answer.resume().once("end", () => resolve(answer.statusCode));
      }).once("error", reject);
    });
    if (status === 200) answers.served++;
    else answers.refused++;
  }
}

function cancelBurst(): void {
  for (let i = 0; i < burst.calls; i++) {
    const request = get({ ...options, agent: false }).on("error", () => {}); // it is cancelled below
    setTimeout(() => request.destroy(), burst.minMs + Math.random() * (burst.maxMs - burst.minMs));
  }
}
