/**
 * A running server as a client knows it. A suite runs once for each database, on one server of its own; its tests keep apart by working in
 * groups of their own. Reads and refusals are made over REST, gRPC and Connect at once and must come out the same.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Transport } from "@connectrpc/connect";
import type { Client } from "@grpc/grpc-js";
import pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { type Config, readConfig } from "../../src/config.ts";
import { type RunningServer, startServer } from "../../src/server/index.ts";
import { openDatabase, type WriteSession } from "../../src/store/index.ts";
import "../contract/postgres.ts";
import { isWithoutFastLane } from "../cli/platform-process.ts";
import { callOverConnect, connectTransports } from "./connect-client.ts";
import { type Json, methodNamed } from "./contract.ts";
import { callOverGrpc, connectGrpc } from "./grpc-client.ts";
import { type CodeName, expectStatusOf, type Outcome, type Status } from "./outcome.ts";
import { callOverRest } from "./rest-client.ts";

/** The protocols that every read and every refusal is tried over. */
export const protocols = ["rest", "grpc", "connect"] as const;

/** A protocol, or one of its dialects. */
export type Protocol = "rest" | "grpc" | keyof typeof connectTransports;

/** How a call is made. */
export interface CallOptions {
  /** A bearer token; null for none, the administrator's unless told. */
  readonly as?: string | null;
  readonly over?: Protocol;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as the protocol's own deadline. */
  readonly timeoutMs?: number;
}

/** One server, seen from outside. */
export interface Platform {
  readonly database: "sqlite" | "postgresql";
  /** As commands beside the server are given it. */
  readonly databaseUrl: string;
  readonly baseUrl: string;
  /** The first group. */
  readonly root: string;
  /** The first administrator's identity and token. */
  readonly administrator: string;
  readonly admin: string;
  /** A token of the platform's own for an identity. */
  token(identityUid: string, ttlSeconds?: number): Promise<string>;
  /** Makes a call. */
  call(method: string, request: Json, options?: CallOptions): Promise<Outcome>;
  /** The answer to a call that succeeds. */
  ok(method: string, request: Json, options?: CallOptions): Promise<Json>;
  /** The one answer of a call that changes nothing, over every protocol. */
  read(method: string, request: Json, options?: Omit<CallOptions, "over">): Promise<Json>;
  /** The one error of a call over every protocol; its code, and all that every error promises, is expected. */
  refused(method: string, request: Json, code: CodeName, options?: Omit<CallOptions, "over">): Promise<Status>;
  /** A plain HTTP request with the administrator's token and, with a body, JSON as its type, unless `headers` has others. */
  fetch(target: string, init?: RequestInit): Promise<Response>;
  /** Writes what no method makes, as an importer does: in a transaction of its own, beside the server. */
  write<T>(work: (session: WriteSession) => Promise<T>): Promise<T>;
  /** Stops the server and starts it on the same database. */
  restart(more?: Partial<Config>): Promise<void>;
}

/** Declares a suite for a server on every database; `platform()` is the one that runs. */
export function onEveryServer(
  title: string,
  suite: (platform: () => Platform) => void,
  settings?: Partial<Config>,
): void {
  describe(`${title} (sqlite)`, () => suite(onServer(createSqlite, "sqlite", settings)));
  const postgres = inject("postgres") ?? { missing: "the conformance project has no global set-up" };
  if ("url" in postgres)
    describe(`${title} (postgresql)`, () =>
      suite(onServer(() => createPostgres(postgres.url), "postgresql", settings)));
  else {
    console.warn(`${title} is not tested on PostgreSQL: ${postgres.missing}`);
    describe.skip(`${title} (postgresql, skipped: ${postgres.missing})`, () =>
      suite(onServer(createSqlite, "sqlite", settings)));
  }
}

interface Place {
  readonly url: string;
  remove(): Promise<unknown>;
}

function onServer(
  create: () => Promise<Place>,
  database: Platform["database"],
  settings?: Partial<Config>,
): () => Platform {
  let place: Place;
  let platform: Started;
  beforeAll(async () => {
    place = await create();
    platform = await start(place.url, database, settings);
  });
  afterAll(async () => {
    await platform?.stop();
    await place?.remove();
  });
  return () => platform;
}

type Started = Platform & { stop(): Promise<void> };

async function start(url: string, database: Platform["database"], settings: Partial<Config> = {}): Promise<Started> {
  const bugs: string[] = [];
  const log = pino({ level: "error", base: null }, { write: (line: string) => void bugs.push(line) });
  const defaults = readConfig({
    flags: { listen: "127.0.0.1:0", database: url, logLevel: "error" },
    env: {},
    warn: () => {},
  });
  let server: RunningServer;
  let grpc: Client;
  const transports = new Map<string, Transport>();
  async function open(more: Partial<Config> = {}) {
    server = await startServer({ ...defaults, fullDoors: isWithoutFastLane, ...settings, ...more }, log);
    grpc = connectGrpc(server.baseUrl);
    transports.clear();
  }
  async function stop() {
    grpc.close();
    await server.stop();
    expect(bugs, "the server logged no error of its own").toEqual([]);
  }
  await open();
  const { rootGroupUid, administratorUid } = server!.installed!;
  const admin = await server!.mintToken(administratorUid, 3600);

  const platform: Started = {
    database,
    databaseUrl: url,
    get baseUrl() {
      return server.baseUrl;
    },
    root: rootGroupUid,
    administrator: administratorUid,
    admin,
    token: (identityUid, ttlSeconds = 3600) => server.mintToken(identityUid, ttlSeconds),

    async call(name, request, { as = admin, over = "rest", headers = {}, timeoutMs } = {}) {
      const method = methodNamed(name);
      const all = as === null ? headers : { authorization: `Bearer ${as}`, ...headers };
      if (over === "grpc") return callOverGrpc(grpc, method, request, all, timeoutMs);
      if (over === "rest") {
        const deadline = timeoutMs === undefined ? {} : { "x-server-timeout": String(timeoutMs / 1000) };
        return callOverRest(server.baseUrl, method, request, { ...all, ...deadline });
      }
      const transport = transports.get(over) ?? connectTransports[over](server.baseUrl);
      transports.set(over, transport);
      return callOverConnect(transport, method, request, all, timeoutMs);
    },

    async ok(name, request, options = {}) {
      const outcome = await platform.call(name, request, options);
      if (!outcome.ok) throw new Error(`${name} over ${options.over ?? "rest"}: ${JSON.stringify(outcome.status)}`);
      return outcome.message;
    },

    async read(name, request, options = {}) {
      const [answer, ...others] = await Promise.all(
        protocols.map((over) => platform.ok(name, request, { ...options, over })),
      );
      const isSealed = answer.nextPageToken !== undefined;
      for (const [i, other] of others.entries()) {
        // Tokens are sealed afresh each time, so they differ.
        const comparable = isSealed ? { ...other, nextPageToken: answer.nextPageToken } : other;
        expect(comparable, `${name}: ${protocols[i + 1]} answers as REST does`).toEqual(answer);
        expect(other.nextPageToken !== undefined).toBe(isSealed);
      }
      return answer;
    },

    async refused(name, request, code, options = {}) {
      const statuses: Status[] = [];
      for (const over of protocols) {
        const outcome = await platform.call(name, request, { ...options, over });
        if (outcome.ok) throw new Error(`${name} over ${over} is not refused: ${JSON.stringify(outcome.message)}`);
        expectStatusOf(methodNamed(name), outcome.status, code);
        statuses.push(outcome.status);
      }
      for (const [i, status] of statuses.entries())
        expect(status, `${name}: ${protocols[i]} refuses as REST does`).toEqual(statuses[0]);
      return statuses[0]!;
    },

    fetch(target, { headers, ...init } = {}) {
      return fetch(`${server.baseUrl}${target}`, {
        ...init,
        headers: {
          authorization: `Bearer ${admin}`,
          ...(init.body === undefined ? {} : { "content-type": "application/json" }),
          ...(headers as Record<string, string>),
        },
      });
    },

    async write(work) {
      const database = await openDatabase(url, { busyWaitMs: 5000 });
      return database.transact(work).finally(() => database.close());
    },

    async restart(more) {
      await stop();
      await open(more);
    },
    stop,
  };
  return platform;
}

async function createSqlite(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "platform-conformance-"));
  return { url: `sqlite:${join(folder, "platform.db")}`, remove: () => rm(folder, { recursive: true }) };
}

async function createPostgres(server: string): Promise<Place> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  await query(server, `create database ${name}`);
  return { url: url.href, remove: () => query(server, `drop database ${name} with (force)`) };
}

async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
