/**
 * No change without its event, no event without its change. Clients make random calls over REST and gRPC, the server is
 * killed again and again in between; then what was delivered is held against two witnesses: the audit log, which is
 * written in the transaction of each change, and what the lists show.
 */
import { randomInt } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Client } from "@grpc/grpc-js";
import { type ExpectStatic, expect, inject, test } from "vitest";
import { parentOf } from "../../src/uid.ts";
import { type PlatformProcess, runPlatform, startPlatform } from "../cli/platform-process.ts";
import { restClient } from "../cli/rest-client.ts";
import "../databases/postgres.ts";
import { type Json, methodNamed } from "./contract.ts";
import { type EmptyDatabase, emptyPostgres, emptySqlite } from "./databases.ts";
import { type EventSink, shortType, startSink } from "./event-sink.ts";
import { expectedEvents } from "./expected-events.ts";
import { callOverGrpc, connectGrpc } from "./grpc-client.ts";
import { codes } from "./outcome.ts";
import { makeRandomCalls, type Send } from "./random-calls.ts";
import { callOverRest } from "./rest-client.ts";

const calls = 500;
const kills = 2;
const env = { PLATFORM_ALLOW_LOOPBACK_SINKS: "true" };

const postgres = inject("postgres") ?? { missing: "the project has no global set-up" };
if (!("url" in postgres)) console.warn(`killed servers are not tested on PostgreSQL: ${postgres.missing}`);

const timeout = 600_000;

// At once: what a killed server had leased comes back after a minute, and to wait for that costs nothing.
test.concurrent("every change is delivered, and nothing else (sqlite)", { timeout }, ({ expect }) =>
  run(emptySqlite, expect),
);
test
  .skipIf(!("url" in postgres))
  .concurrent("every change is delivered, and nothing else (postgresql)", { timeout }, ({ expect }) =>
    run(() => emptyPostgres((postgres as { url: string }).url), expect),
  );

/** `expect`: of the test, since `expect.poll` of the module belongs to one test at a time. */
async function run(make: () => Promise<EmptyDatabase>, expect: ExpectStatic): Promise<void> {
  const database = await make();
  const sink = await startSink();
  const servers = await startServers(database);
  try {
    const { token, root } = servers;
    const subscription = { sink: sink.url("/events") };
    const subscribed = await restClient((await servers.current()).baseUrl, token).post(
      `/events/v2/subscriptions/${root}`,
      subscription,
    );
    expect(subscribed.status).toBe(200);
    const killAfter = new Set(Array.from({ length: kills }, (_, i) => Math.round(((i + 0.5) * calls) / kills)));
    await makeRandomCalls(root, { calls, clients: 8 }, servers.send, (made) => {
      if (killAfter.has(made)) servers.kill();
    });
    const expected = await auditedEvents(database, root);
    const ids = () => new Set(ofChanges(sink).map(({ headers }) => headers["ce-id"]));
    await expect.poll(() => ids().size >= expected.length, { timeout: 300_000, interval: 500 }).toBe(true);
    await setTimeout(1000);
    const delivered = new Map(ofChanges(sink).map((event) => [event.headers["ce-id"], event]));
    expect([...delivered.values()].map((event) => `${shortType(event)} ${event.headers["ce-subject"]}`).sort()).toEqual(
      expected,
    );
    await expectState(delivered, (await servers.current()).baseUrl, token, root);
    console.log(
      `${calls} calls, ${servers.cutOff()} of them cut off by ${kills} kills: ${expected.length} changes, ${delivered.size} events, ` +
        `${ofChanges(sink).length} deliveries`,
    );
    expect(servers.cutOff()).toBeGreaterThan(0);
  } finally {
    await servers.stop();
    await sink.close();
    await database.remove();
  }
}

/** Deliveries about anything but the subscription itself. */
function ofChanges(sink: EventSink) {
  return sink.received.filter((event) => !shortType(event).startsWith("events."));
}

/** What the audit log says must have been emitted below `root`: types and subjects, in order. */
async function auditedEvents(database: EmptyDatabase, root: string): Promise<string[]> {
  const { code, stdout } = await runPlatform(["audit", "--json", "--database", database.url]);
  expect(code).toBe(0);
  const records = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Json)
    .filter(({ code, method, scope }) => code === "OK" && scope.startsWith(root) && /^platform\./.test(method))
    .filter(({ method }) => !method.endsWith("Subscription"));
  const changes = records.map(({ method, resource, scope }) => ({
    name: method.split("/")[1],
    uid: resource || scope,
  }));
  const uidsOf = (method: string) => changes.flatMap(({ name, uid }) => (name === method ? [uid] : []));
  const deletedRepos = new Set(uidsOf("DeleteRepo"));
  const deletedTags = [...new Set(uidsOf("CreateTag"))].filter((uid) => deletedRepos.has(parentOf(uid)));
  const events = [
    ...changes.map(({ name, uid }) => `${expectedEvents[name]!.type} ${uid}`),
    ...deletedTags.map((uid) => `${expectedEvents.DeleteTag!.type} ${uid}`), // a repo takes its tags with it
  ];
  return events.sort();
}

/** What was made and not deleted, by the events, is what is there. */
async function expectState(
  delivered: ReadonlyMap<unknown, Parameters<typeof shortType>[0]>,
  baseUrl: string,
  token: string,
  root: string,
): Promise<void> {
  const there = new Set<string>();
  const rest = restClient(baseUrl, token);
  for (const [path, field] of [
    ["/iam/v2/groups", "groups"],
    ["/iam/v2/roles", "roles"],
    ["/iam/v2/identities", "identities"],
    ["/registry/v2/repos", "repos"],
    ["/registry/v2/tags", "tags"],
  ] as const) {
    for (const { uid } of (await rest.walk(`${path}?uidp.descendants_of=${root}`, field)).rows) there.add(uid);
  }
  const made = new Set<string>();
  const events = [...delivered.values()];
  for (const event of events) if (/created$/.test(shortType(event))) made.add(String(event.headers["ce-subject"]));
  for (const event of events) if (/deleted$/.test(shortType(event))) made.delete(String(event.headers["ce-subject"]));
  expect([...made].sort()).toEqual([...there].sort());
}

interface Servers {
  readonly root: string;
  readonly token: string;
  /** The server that runs, or the next one. */
  current(): Promise<PlatformProcess>;
  readonly send: Send;
  /** Kills the server and starts another. */
  kill(): void;
  cutOff(): number;
  stop(): Promise<void>;
}

async function startServers(database: EmptyDatabase): Promise<Servers> {
  const settings = ["--database", database.url, "--listen", "127.0.0.1:0", "--log-level", "error"];
  const issuer = "http://platform.example";
  const init = await runPlatform(["init", "--json", "--database", database.url, "--issuer", issuer]);
  const { token, rootGroupUid: root } = JSON.parse(init.stdout);
  const grpc = new Map<string, Client>();
  let running = startPlatform(settings, { env });
  let cutOff = 0;
  return {
    root,
    token,
    current: () => running,
    async send(name, request) {
      const { baseUrl } = await running;
      const headers = { authorization: `Bearer ${token}` };
      const method = methodNamed(name);
      const client = grpc.get(baseUrl) ?? connectGrpc(baseUrl);
      grpc.set(baseUrl, client);
      const calling =
        randomInt(2) === 0
          ? callOverRest(baseUrl, method, request, headers)
          : callOverGrpc(client, method, request, headers);
      const outcome = await calling.catch((error: unknown) => {
        if (!(error instanceof TypeError)) throw error; // fetch: the server is gone
        return undefined;
      });
      if (outcome?.ok) return outcome.message;
      const code = outcome === undefined ? codes.UNAVAILABLE : outcome.status.code;
      if (code === codes.ABORTED) return undefined; // others came first, again and again: it has changed nothing
      if (code === codes.UNAVAILABLE) {
        cutOff++;
        return undefined;
      }
      throw new Error(`${name}: ${JSON.stringify(outcome?.status)}`);
    },
    kill() {
      running = running.then(async (server) => {
        await server.end("SIGKILL");
        return startPlatform(settings, { env });
      });
    },
    cutOff: () => cutOff,
    async stop() {
      for (const client of grpc.values()) client.close();
      await (await running).end("SIGKILL");
    },
  };
}
