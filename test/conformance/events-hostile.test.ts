/**
 * Ten hostile sinks beside a good one: how long the good one waits for an event, and what a call costs, with them and
 * without, is printed. That the good one misses nothing, and that none of the others is asked without end, is expected.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { settingsIn, startPlatformForTest, temporaryFolder } from "../cli/platform-process.ts";
import { type RestClient, restClient } from "../cli/rest-client.ts";
import { runHere } from "../cli/run-here.ts";
import { startSink } from "./event-sink.ts";

const events = Number(process.env.EVENTS_HOSTILE_CALLS ?? 200);
const pauseMs = 10;

test("ten hostile sinks beside a good one", { timeout: 180_000 }, async () => {
  const { database, serve } = settingsIn(await temporaryFolder());
  const env = { PLATFORM_ALLOW_LOOPBACK_SINKS: "true" };
  const server = await startPlatformForTest([...serve, "--log-level", "error"], { env });
  const rest = restClient(server.baseUrl, (await runHere(["token", ...database])).stdout.trim());
  const group = (await rest.get("/iam/v2/groups")).body.groups[0].uid;
  const arrivals = new Map<string, number>();
  const good = await startSink(({ headers }, response) => {
    arrivals.set(String(headers["ce-subject"]), performance.now());
    response.end();
  });
  onTestFinished(() => good.close());
  const subscribe = async (sink: string) => {
    expect((await rest.post(`/events/v2/subscriptions/${group}`, { sink })).status).toBe(200);
  };
  await subscribe(good.url("/"));

  await measure(rest, group, arrivals, "warm");
  const without = await measure(rest, group, arrivals, "without");
  const hostile = await startHostileSinks();
  for (const address of hostile.addresses) await subscribe(address);
  const withThem = await measure(rest, group, arrivals, "with");
  const asked = await hostile.asked();
  console.log(`without hostile sinks: ${without}\nwith ten of them:      ${withThem}`);
  console.log(`asked: ${JSON.stringify(asked)}`);
  expect(hostile.addresses).toHaveLength(10);
  // A gigabyte behind a 200 is a delivery like any other, also of what the subscriptions are; all others fail, and are
  // left alone more and more.
  const { "a gigabyte": delivered = 0, ...failing } = asked;
  expect(delivered).toBeLessThanOrEqual(events + hostile.addresses.length);
  for (const [name, count] of Object.entries(failing)) expect(count, name).toBeLessThanOrEqual(20);
  expect(server.stderr()).toBe("");
});

/** Starts `hostile-sinks.ts`; `asked` ends it. */
async function startHostileSinks() {
  const child = spawn(process.execPath, [join(import.meta.dirname, "hostile-sinks.ts")]);
  onTestFinished(() => void child.kill());
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value ?? "null");
  return {
    addresses: (await next()) as string[],
    asked: async (): Promise<Record<string, number>> => {
      child.stdin.end();
      return next();
    },
  };
}

/** Makes repos and waits until each of them has been told of; what that took. */
async function measure(
  rest: RestClient,
  group: string,
  arrivals: ReadonlyMap<string, number>,
  prefix: string,
): Promise<string> {
  const answered = new Map<string, number>();
  const calls: number[] = [];
  for (let i = 0; i < events; i++) {
    const startMs = performance.now();
    const { status, body } = await rest.post(`/registry/v2/repos/${group}`, { name: `${prefix}-${i}` });
    expect(status).toBe(200);
    answered.set(body.uid, performance.now());
    calls.push(performance.now() - startMs);
    await setTimeout(pauseMs);
  }
  await expect.poll(() => [...answered.keys()].every((uid) => arrivals.has(uid))).toBe(true);
  const waits = [...answered].map(([uid, ms]) => Math.max(0, arrivals.get(uid)! - ms));
  return `event after the answer ${percentiles(waits)}; call ${percentiles(calls)}`;
}

function percentiles(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}
