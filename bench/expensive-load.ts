/**
 * A process that asks for the most expensive list until it is killed: in loops, or in bursts of calls that it cancels.
 *
 *     node bench/expensive-load.ts search|cancel PORT TOKEN
 */
import { Agent, get } from "node:http";

const [kind, port, token] = process.argv.slice(2);
const options = {
  host: "127.0.0.1",
  port,
  path: "/vulnerabilities/v2/advisories?page_size=50&query=ghsa",
  headers: { authorization: `Bearer ${token}` },
};
const clients = 4;
const burst = { calls: 200, everyMs: 1000, minMs: 5, maxMs: 50 };

if (kind === "search") {
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < clients; i++) void searchForever(agent);
} else {
  cancelBurst();
  setInterval(cancelBurst, burst.everyMs);
}

async function searchForever(agent: Agent): Promise<never> {
  for (;;) {
    await new Promise((resolve, reject) => {
      get({ ...options, agent }, (answer) => answer.resume().once("end", resolve)).once("error", reject);
    });
  }
}

function cancelBurst(): void {
  for (let i = 0; i < burst.calls; i++) {
    const request = get({ ...options, agent: false }).on("error", () => {}); // it is cancelled below
    setTimeout(() => request.destroy(), burst.minMs + Math.random() * (burst.maxMs - burst.minMs));
  }
}
