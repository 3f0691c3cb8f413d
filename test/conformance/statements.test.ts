/**
 * How many statements of PostgreSQL a call needs, and how often it waits for them, as a proxy between the two sees it.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type RunningServer, startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import "../databases/postgres.ts";
import { type EmptyDatabase, migratedPostgres } from "./databases.ts";

const postgres = inject("postgres") ?? { missing: "the conformance project has no global set-up" };
if (!("url" in postgres)) console.warn(`statements are not counted: ${postgres.missing}`);

/** What a call cost: the statements, and how often the next were sent only after an answer. */
interface Cost {
  readonly statements: number;
  readonly roundTrips: number;
}

/** Statements of the server's own: the dispatcher looks for deliveries, the probes ask whether the database answers. */
const isOwn = (text: string) => text.includes("recursive partitions") || text === "show transaction_read_only";

/** Nothing more is sent without an answer when nothing has been sent for so long. */
const quietMs = 10;

/**
 * Passes connections on to a server, and counts what is sent over them. While it counts, it holds answers back until
 * nothing more is sent without them: otherwise an answer might come while statements are sent that do not need it.
 */
class CountingProxy {
  readonly #server = createServer((socket) => this.#pass(socket));
  readonly #sockets = new Set<Socket>();
  #statements: string[] = [];
  #roundTrips = 0;
  #hasAnswered = true;
  #isCounting = false;
  #held: (() => void)[] = [];
  #sent = 0;

  async open(target: URL): Promise<URL> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.#target = target;
    const url = new URL(target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url;
  }

  #target: URL | undefined;

  #pass(client: Socket): void {
    const server = connect(Number(this.#target!.port), this.#target!.hostname);
    const texts = new Map<string, string>();
    let unread: Buffer = Buffer.alloc(0);
    let hasStarted = false;
    client.on("data", (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk]);
      for (;;) {
        const head = hasStarted ? 1 : 0;
        if (unread.length < head + 4) break;
        const length = head + unread.readInt32BE(head);
        if (unread.length < length) break;
        if (hasStarted) this.#count(unread.subarray(0, length), texts);
        hasStarted = true;
        unread = unread.subarray(length);
      }
      server.write(chunk);
      this.#sent++;
    });
    server.on("data", (chunk: Buffer) => this.#answer(() => client.write(chunk)));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
    }
  }

  #answer(write: () => void): void {
    if (this.#held.push(write) === 1) this.#releaseWhenQuiet();
  }

  #releaseWhenQuiet(): void {
    const sent = this.#sent;
    const release = () => {
      if (this.#sent > sent) return this.#releaseWhenQuiet();
      this.#hasAnswered = true;
      for (const write of this.#held.splice(0)) write();
    };
    // What arrived while this process was not running is read before the immediate.
    setTimeout(() => setImmediate(release), this.#isCounting ? quietMs : 0);
  }

  /** Counts a message of a client. Names and texts end with a zero byte. */
  #count(message: Buffer, texts: Map<string, string>): void {
    const [first = "", second = ""] = message.toString("utf8", 5).split("\0");
    const type = String.fromCharCode(message[0]!);
    if (type === "P") texts.set(first, second);
    const text = type === "Q" ? first : type === "B" ? texts.get(second)! : undefined;
    if (text === undefined || isOwn(text)) return;
    this.#statements.push(text);
    if (this.#hasAnswered) this.#roundTrips++;
    this.#hasAnswered = false;
  }

  async costOf(call: () => Promise<unknown>): Promise<Cost> {
    this.#statements = [];
    this.#roundTrips = 0;
    this.#hasAnswered = true;
    this.#isCounting = true;
    await call();
    this.#isCounting = false;
    return { statements: this.#statements.length, roundTrips: this.#roundTrips };
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

describe.skipIf(!("url" in postgres))("on PostgreSQL, at most", () => {
  const proxy = new CountingProxy();
  let database: EmptyDatabase;
  let server: RunningServer;
  let root: string;
  let token: string;

  beforeAll(async () => {
    database = await migratedPostgres((postgres as { url: string }).url);
    const url = await proxy.open(new URL(database.url));
    const flags = { listen: "127.0.0.1:0", adminListen: "off", database: url.href, logLevel: "error" };
    server = await startServer(readConfig({ flags, env: {}, warn: () => {} }), pino({ level: "error" }));
    root = server.installed!.rootGroupUid;
    token = await server.mintToken(server.installed!.administratorUid, 3600);
  });
  afterAll(async () => {
    await server.stop();
    proxy.close();
    await database.remove();
  });

  async function call(method: string, path: string, body?: object): Promise<{ readonly uid: string }> {
    const answer = await fetch(`${server.baseUrl}/registry/v2/repos${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(answer.status).toBe(200);
    const text = await answer.text(); // empty after a delete
    return text === "" ? { uid: "" } : JSON.parse(text);
  }

  let count = 0;
  const create = () => call("POST", `/${root}`, { name: `repo-${count++}` });
  const calls: [what: string, most: Cost, prepare: () => Promise<() => Promise<unknown>>][] = [
    [
      "2 statements for a Get",
      { statements: 2, roundTrips: 2 },
      async () => {
        const { uid } = await create();
        return () => call("GET", `/${uid}`);
      },
    ],
    [
      "3 statements for a list with its total",
      { statements: 3, roundTrips: 2 },
      async () => () => call("GET", "?page_size=50"),
    ],
    ["10 statements for a create", { statements: 10, roundTrips: 4 }, async () => create],
    [
      "8 statements for an update",
      { statements: 8, roundTrips: 5 },
      async () => {
        const { uid } = await create();
        return () => call("PATCH", `/${uid}`, { description: `change ${count++}` });
      },
    ],
    [
      "21 statements for a delete",
      { statements: 21, roundTrips: 12 },
      async () => {
        const { uid } = await create();
        return () => call("DELETE", `/${uid}`);
      },
    ],
  ];

  test.each(calls)("%s", async (_what, most, prepare) => {
    const costs: Cost[] = [];
    for (let i = 0; i < 6; i++) costs.push(await proxy.costOf(await prepare())); // others may come between
    const least = (key: keyof Cost) => Math.min(...costs.map((cost) => cost[key]));
    const cost = { statements: least("statements"), roundTrips: least("roundTrips") };
    expect(cost.statements, JSON.stringify(costs)).toBeLessThanOrEqual(most.statements);
    expect(cost.roundTrips, JSON.stringify(costs)).toBeLessThanOrEqual(most.roundTrips);
  });
});
