/** A server of a suite's own, on every database, as its clients see it. */
import { afterAll, beforeAll, describe, inject } from "vitest";
import { type RunningServer, startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { createLogger } from "../../src/log.ts";
import { campaign } from "../campaign.ts";
import { createCitus, hasCitus } from "../databases/citus.ts";
import "../databases/postgres.ts";
import { type EmptyDatabase, migratedPostgres, migratedSqlite } from "./databases.ts";
import { fetchDocumented } from "./documented.ts";

/** A JSON value that a test looks into as it likes. */
// biome-ignore lint/suspicious/noExplicitAny: answers are checked by the expectations of the tests
export type Json = any;

/** An answer of any status. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

/** A running server. */
export interface LiveServer {
  readonly running: RunningServer;
  readonly baseUrl: string;
  readonly databaseUrl: string;
  readonly isSqlite: boolean;
  /** The first group, its administrator and a token of hers. */
  readonly root: string;
  readonly administrator: string;
  readonly admin: string;
  /** Calls over REST with a bearer token, the administrator's unless told; null is none. */
  call(method: string, path: string, body?: Json, as?: string | null, headers?: Record<string, string>): Promise<Reply>;
  /** A new group; in the first one unless told. */
  group(parent?: string): Promise<string>;
  /** One more server on the same database. */
  another(): Promise<RunningServer>;
}

type Settings = NonNullable<Parameters<typeof readConfig>[0]["flags"]>;

/** Declares a suite for every database; `server()` is the one that its tests share. */
export function onEveryServer(title: string, settings: Settings, suite: (server: () => LiveServer) => void): void {
  onSqlite(title, settings, suite);
  if (hasCitus) describe(`${title} (citus)`, () => suite(perSuite(settings, createCitus)));
  const postgres = inject("postgres") ?? { missing: "the project has no global set-up" };
  if ("url" in postgres)
    describe(`${title} (postgresql)`, () => suite(perSuite(settings, () => migratedPostgres(postgres.url))));
  else {
    console.warn(`${title} is not tested on PostgreSQL: ${postgres.missing}`);
    describe.skip(`${title} (postgresql, skipped: ${postgres.missing})`, () =>
      suite(perSuite(settings, migratedSqlite)));
  }
}

function onSqlite(title: string, settings: Settings, suite: (server: () => LiveServer) => void): void {
  describe(`${title} (sqlite)`, () => suite(perSuite(settings, migratedSqlite)));
}

/** Declares a suite of a campaign that asks little of the database: in short it runs on SQLite alone. */
export const onCampaignServers = campaign({ short: onSqlite, full: onEveryServer });

/** Reads an answer. */
export async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}

function perSuite(settings: Settings, create: () => Promise<EmptyDatabase>): () => LiveServer {
  let place: EmptyDatabase;
  let server: LiveServer;
  const started: RunningServer[] = [];
  beforeAll(async () => {
    place = await create();
    const start = async () => {
      const flags = {
        listen: "127.0.0.1:0",
        adminListen: "off",
        drainDelay: "0",
        database: place.url,
        allowLoopbackIssuers: "true",
        ...settings,
      };
      const running = await startServer(readConfig({ flags, env: {}, warn: () => {} }), createLogger("silent"));
      started.push(running);
      return running;
    };
    const running = await start();
    const { rootGroupUid: root, administratorUid: administrator } = running.installed!;
    const admin = await running.mintToken(administrator, 3600);
    const call: LiveServer["call"] = async (method, path, body, as = admin, headers = {}) =>
      replyOf(
        await fetchDocumented(`${running.baseUrl}${path}`, {
          method,
          headers: {
            ...(as !== null && { authorization: `Bearer ${as}` }),
            ...(body !== undefined && { "content-type": "application/json" }),
            ...headers,
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      );
    server = {
      running,
      baseUrl: running.baseUrl,
      databaseUrl: place.url,
      isSqlite: place.url.startsWith("sqlite:"),
      root,
      administrator,
      admin,
      call,
      group: async (parent = root) => (await call("POST", `/iam/v2/groups/${parent}`, { name: "group" })).body.uid,
      another: start,
    };
  });
  afterAll(async () => {
    await Promise.all(started.map((running) => running.stop()));
    await place?.remove();
  });
  return () => server;
}
