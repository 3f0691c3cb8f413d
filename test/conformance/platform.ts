/**
 * A running server as a client knows it. A suite runs once for each database, on one server of its own; its tests keep
 * apart by working in groups of their own. Reads and refusals are made over REST, gRPC and Connect at once and must
 * come out the same.
 */
import type { Transport } from "@connectrpc/connect";
import type { Client } from "@grpc/grpc-js";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { type RunningServer, startServer } from "../../src/app/index.ts";
import { type Config, readConfig } from "../../src/config/index.ts";
import { type Database, openDatabase, type WriteSession } from "../../src/store/index.ts";
import { campaign } from "../campaign.ts";
import { createCitus, hasCitus } from "../databases/citus.ts";
import "../databases/postgres.ts";
import { isOnNodesHttp2, isWithoutFastPath, isWithoutGeneratedCode } from "../cli/platform-process.ts";
import { callOverConnect, connectTransports } from "./connect-client.ts";
import { type Json, methodNamed } from "./contract.ts";
import { type EmptyDatabase, migratedPostgres, migratedSqlite } from "./databases.ts";
import { fetchDocumented } from "./documented.ts";
import { callOverGrpc, connectGrpc } from "./grpc-client.ts";
import { type CodeName, expectStatusOf, type Outcome, type Status } from "./outcome.ts";
import { callOverRest } from "./rest-client.ts";
import { startWorkers, testWorkers } from "./worker-server.ts";

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
  /**
   * A plain HTTP request with the administrator's token and, with a body, JSON as its type, unless `headers` has
   * others. The answer of an operation is held against the OpenAPI document.
   */
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
  onSqlite(title, suite, settings);
  if (hasCitus) describe(`${title} (citus)`, () => suite(onServer(createCitus, "postgresql", settings)));
  const postgres = inject("postgres") ?? { missing: "the conformance project has no global set-up" };
  if ("url" in postgres)
    describe(`${title} (postgresql)`, () =>
      suite(onServer(() => migratedPostgres(postgres.url), "postgresql", settings)));
  else {
    console.warn(`${title} is not tested on PostgreSQL: ${postgres.missing}`);
    describe.skip(`${title} (postgresql, skipped: ${postgres.missing})`, () =>
      suite(onServer(migratedSqlite, "sqlite", settings)));
  }
}

/** Declares a suite for a server on SQLite alone. */
export function onSqlite(title: string, suite: (platform: () => Platform) => void, settings?: Partial<Config>): void {
  describe(`${title} (sqlite)`, () => suite(onServer(migratedSqlite, "sqlite", settings)));
}

/** Declares a suite of a campaign that asks little of the database: in short it runs on SQLite alone. */
export const onCampaignServers = campaign({ short: onSqlite, full: onEveryServer });

/** Declares a suite for a server on each database, both at once: first SQLite, then PostgreSQL. */
export function onBothServers(title: string, suite: (platforms: () => readonly Platform[]) => void): void {
  const postgres = inject("postgres") ?? { missing: "the project has no global set-up" };
  if ("missing" in postgres) console.warn(`${title} is not tested without PostgreSQL: ${postgres.missing}`);
  describe.skipIf("missing" in postgres)(title, () => {
    const url = "url" in postgres ? postgres.url : "";
    const both = [onServer(migratedSqlite, "sqlite"), onServer(() => migratedPostgres(url), "postgresql")];
    suite(() => both.map((platform) => platform()));
  });
}

/** Declares a suite that has nothing to do with the database, for one server. */
export function onOneServer(
  title: string,
  suite: (platform: () => Platform) => void,
  settings?: Partial<Config>,
): void {
  describe(title, () => suite(onServer(migratedSqlite, "sqlite", settings)));
}

function onServer(
  create: () => Promise<EmptyDatabase>,
  database: Platform["database"],
  settings?: Partial<Config>,
): () => Platform {
  let place: EmptyDatabase;
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
    flags: { listen: "127.0.0.1:0", adminListen: "off", drainDelay: "0", database: url, logLevel: "error" },
    env: {},
    warn: () => {},
  });
  let server: RunningServer;
  let grpc: Client;
  let writer: Promise<Database> | undefined;
  const transports = new Map<string, Transport>();
  async function open(more: Partial<Config> = {}) {
    const config: Config = {
      ...defaults,
      ...(isOnNodesHttp2 && { http2: "node" }),
      ...(isWithoutFastPath && { fastPath: "off" }),
      ...(isWithoutGeneratedCode && { generatedCode: "off" }),
      ...settings,
      ...more,
    };
    server = testWorkers > 1 ? await startWorkers(config) : await startServer(config, log);
    grpc = connectGrpc(server.baseUrl);
    transports.clear();
  }
  async function stop() {
    await (await writer)?.close();
    writer = undefined;
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
      return fetchDocumented(`${server.baseUrl}${target}`, {
        ...init,
        headers: {
          authorization: `Bearer ${admin}`,
          ...(init.body === undefined ? {} : { "content-type": "application/json" }),
          ...(headers as Record<string, string>),
        },
      });
    },

    async write(work) {
      writer ??= openDatabase(url); // to wait for a lock it must not block the server, which is in this process
      return (await writer).transact(work);
    },

    async restart(more) {
      await stop();
      await open(more);
    },
    stop,
  };
  return platform;
}
