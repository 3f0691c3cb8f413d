/**
 * The names of a real catalogue as repos in a tree of groups, walked page by page in every order over REST and gRPC
 * while another client creates, changes and deletes other repos all the time. Each repo that is left alone must come
 * exactly once and in order.
 *
 * Left out, for the time it takes: one row per page in every order (here in one on SQLite), and pages of 7 in
 * every order on PostgreSQL.
 */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { campaign } from "../campaign.ts";
import { type PlatformProcess, startPlatform } from "../cli/platform-process.ts";
import { type RestClient, type Row, restClient } from "../cli/rest-client.ts";
import { runHere } from "../cli/run-here.ts";
import { type EmptyDatabase, emptyPostgres, emptySqlite } from "./databases.ts";
import { type GrpcRepos, grpcRepos } from "./grpc-repos.ts";

/** In short, one of so many names. */
const oneOf = campaign({ short: 8, full: 1 });
const names = readNames().filter((_, i) => i % oneOf === 0);

/** A kept repo, by the columns of every order. */
interface Kept {
  readonly uid: string;
  readonly name: string;
  readonly created_at: string;
  readonly updated_at: string;
}

const columns = ["name", "created_at", "updated_at", "uid"] as const;
const orders = columns.flatMap((column) => [`${column} asc`, `${column} desc`]);

/** Which walks a database is worth. */
interface Walks {
  readonly everyOrder: readonly number[];
  readonly someOrders: ReadonlyMap<string, readonly number[]>;
}

const onSqlite: Walks = {
  everyOrder: campaign({ short: [50, 500], full: [7, 199, 500] }),
  someOrders: new Map([["updated_at asc", [1]]]),
};
const onPostgres: Walks = {
  everyOrder: campaign({ short: [199], full: [199, 500] }),
  someOrders: new Map([
    ["name asc", campaign({ short: [500], full: [7, 50] })],
    ["created_at desc", [50]],
  ]),
};

describe("a catalogue (sqlite)", () => suite(emptySqlite, onSqlite));

const postgres = inject("postgres");
if ("url" in postgres) describe("a catalogue (postgresql)", () => suite(() => emptyPostgres(postgres.url), onPostgres));
else {
  console.warn(`the catalogue is not tested on PostgreSQL: ${postgres.missing}`);
  test.skip(`a catalogue (postgresql, skipped: ${postgres.missing})`, () => {});
}

function suite(createDatabase: () => Promise<EmptyDatabase>, walks: Walks): void {
  let database: EmptyDatabase;
  let server: PlatformProcess;
  let rest: RestClient;
  let grpc: GrpcRepos;
  let root: string;
  let kept: Kept[];
  let churn: Churn;

  beforeAll(async () => {
    database = await createDatabase();
    const settings = ["--database", database.url];
    server = await startPlatform([...settings, "--listen", "127.0.0.1:0", "--log-level", "error"]);
    const { stdout: token } = await runHere(["token", ...settings]);
    rest = restClient(server.baseUrl, token.trim());
    grpc = grpcRepos(new URL(server.baseUrl).host, token.trim());
    root = (await rest.get("/iam/v2/groups?uidp.in_root=true")).body.groups[0].uid;
    kept = await createCatalogue(rest, grpc, root);
    churn = startChurn(
      rest,
      kept.slice(0, 40).map(({ uid }) => uid.slice(0, uid.lastIndexOf("/"))),
    );
  }, 120_000);

  afterAll(async () => {
    grpc?.close();
    await server?.end("SIGTERM");
    await database?.remove();
  });

  test.each(orders)("%s: each repo that is left alone comes once, in order", { timeout: 120_000 }, async (order) => {
    const expected = inOrder(kept, order);
    for (const pageSize of [...walks.everyOrder, ...(walks.someOrders.get(order) ?? [])]) {
      const [overRest, overGrpc] = await Promise.all([
        walk(listOverRest(rest, root), order, pageSize),
        walk(listOverGrpc(grpc, root), order, pageSize),
      ]);
      for (const [protocol, pages] of [["REST", overRest] as const, ["gRPC", overGrpc] as const]) {
        const known = new Set(expected);
        expect(
          pages.flatMap(({ uids }) => uids).filter((uid) => known.has(uid)),
          `${protocol}, ${pageSize} rows`,
        ).toEqual(expected);
        for (const [i, { uids, totalCount }] of pages.entries()) {
          if (i < pages.length - 1) expect(uids).toHaveLength(Math.min(pageSize, 200));
          expect(totalCount).toBeGreaterThanOrEqual(names.length);
          expect(totalCount).toBeLessThanOrEqual(names.length + churn.mostAtOnce);
        }
      }
    }
  });

  test("totals are exact, in every group, once the other client is done", async () => {
    await expect.poll(churn.created).toBeGreaterThan(100 / oneOf);
    const { created, failures } = await churn.stop();
    expect(failures).toEqual([]);
    expect(created).toBeGreaterThan(100 / oneOf);
    const counts = new Map<string, number>([[root, 0]]);
    for (const { uid } of kept) {
      for (let at = uid.lastIndexOf("/"); at > 0; at = uid.lastIndexOf("/", at - 1)) {
        const group = uid.slice(0, at);
        counts.set(group, (counts.get(group) ?? 0) + 1);
      }
    }
    const told = new Map<string, number>();
    await eachOf([...counts.keys()], 8, async (group) => {
      const { body } = await rest.get(`/registry/v2/repos?page_size=1&uidp.descendants_of=${group}`);
      told.set(group, Number(body.totalCount));
    });
    expect(told.get(root)).toBe(names.length);
    expect(new Map([...told].sort())).toEqual(new Map([...counts].sort()));
  });

  test.each([names.length - 16, names.length - 1, names.length, 5000])(
    "skip %i leaves what is left, and the total",
    async (skip) => {
      const { body } = await rest.get(
        `/registry/v2/repos?uidp.descendants_of=${root}&order_by=name&page_size=200&skip=${skip}`,
      );
      expect(body.repos.map(({ uid }: Row) => uid)).toEqual(inOrder(kept, "name asc").slice(skip));
      expect(body).toMatchObject({ totalCount: String(names.length), skipped: skip });
      expect(body.nextPageToken).toBeUndefined();
    },
  );
}

/**
 * Groups by first letter, in them groups by the first two, in them the repos: half of them through each protocol, each
 * fifth changed once.
 */
async function createCatalogue(rest: RestClient, grpc: GrpcRepos, root: string): Promise<Kept[]> {
  const groups = new Map<string, string>([["", root]]);
  for (const length of [1, 2]) {
    const prefixes = [...new Set(names.map((name) => name.slice(0, length)))];
    await eachOf(prefixes, 16, async (prefix) => {
      const parent = groups.get(prefix.slice(0, length - 1))!;
      const { status, body } = await rest.post(`/iam/v2/groups/${parent}`, { name: `g ${prefix}` });
      expect(status, JSON.stringify(body)).toBe(200);
      groups.set(prefix, body.uid);
    });
  }
  const kept: Kept[] = [];
  await eachOf(names, 16, async (name, i) => {
    const parent = groups.get(name.slice(0, 2))!;
    let { uid } =
      i % 2 === 0
        ? (await rest.post(`/registry/v2/repos/${parent}`, { name })).body
        : await grpc.call("CreateRepo", { parent, repo: { name } });
    if (i % 5 === 0) ({ uid } = (await rest.patch(`/registry/v2/repos/${uid}`, { description: `The ${i}th` })).body);
    const { body } = await rest.get(`/registry/v2/repos/${uid}`);
    expect(body.name).toBe(name);
    kept.push({ uid, name, created_at: body.createTime, updated_at: body.updateTime });
  });
  return kept;
}

/** A client that never leaves its own repos alone. */
interface Churn {
  /** How many of its repos there are at most. */
  readonly mostAtOnce: number;
  /** How many it has created so far. */
  created(): number;
  /** Deletes what is left and tells how it went. */
  stop(): Promise<{ created: number; failures: string[] }>;
}

function startChurn(rest: RestClient, groups: readonly string[]): Churn {
  const mostAtOnce = 30;
  const failures: string[] = [];
  let created = 0;
  let stopped = false;
  const expectSuccess = ({ status, body }: { status: number; body: unknown }) => {
    if (status !== 200) failures.push(`${status} ${JSON.stringify(body)}`);
  };
  const run = async () => {
    const mine: string[] = [];
    while (!stopped) {
      const letter = "abcdefghijklmnopqrstuvwxyz0123456789"[created % 36];
      const answer = await rest.post(`/registry/v2/repos/${groups[created % groups.length]}`, {
        name: `${letter}-other-${created++}`,
      });
      expectSuccess(answer);
      mine.push(answer.body.uid);
      if (mine.length % 3 === 0)
        expectSuccess(await rest.patch(`/registry/v2/repos/${mine[0]}`, { description: `${created}` }));
      if (mine.length >= mostAtOnce) {
        for (const uid of mine.splice(0, 1 + (created % mostAtOnce)))
          expectSuccess(await rest.delete(`/registry/v2/repos/${uid}`));
      }
      await setTimeout(5); // leaves the server to the walkers most of the time
    }
    for (const uid of mine) expectSuccess(await rest.delete(`/registry/v2/repos/${uid}`));
  };
  const running = run();
  return {
    mostAtOnce,
    created: () => created,
    async stop() {
      stopped = true;
      await running;
      return { created, failures };
    },
  };
}

interface ListedPage {
  readonly uids: string[];
  readonly totalCount: number;
  readonly nextPageToken: string;
}

type List = (orderBy: string, pageSize: number, pageToken: string) => Promise<ListedPage>;

async function walk(list: List, orderBy: string, pageSize: number): Promise<ListedPage[]> {
  const pages: ListedPage[] = [];
  for (let pageToken = ""; ; ) {
    const page = await list(orderBy, pageSize, pageToken);
    pages.push(page);
    if (page.nextPageToken === "") return pages;
    pageToken = page.nextPageToken;
  }
}

function listOverRest(rest: RestClient, root: string): List {
  return async (orderBy, pageSize, pageToken) => {
    const query = new URLSearchParams({
      "uidp.descendants_of": root,
      order_by: orderBy,
      page_size: String(pageSize),
      page_token: pageToken,
    });
    const { status, body } = await rest.get(`/registry/v2/repos?${query}`);
    if (status !== 200) throw new Error(JSON.stringify(body));
    const uids = body.repos.map(({ uid }: Row) => uid);
    return { uids, totalCount: Number(body.totalCount), nextPageToken: body.nextPageToken ?? "" };
  };
}

function listOverGrpc(grpc: GrpcRepos, root: string): List {
  return async (orderBy, pageSize, pageToken) => {
    const page = await grpc.call("ListRepos", {
      uidp: { descendants_of: root },
      order_by: orderBy,
      page_size: pageSize,
      page_token: pageToken,
    });
    // The reader leaves empty lists out; a last page is empty when the rows behind the one before it were deleted.
    const uids = (page.repos ?? []).map(({ uid }: Row) => uid);
    return { uids, totalCount: Number(page.total_count), nextPageToken: page.next_page_token ?? "" };
  };
}

/** The uids in the order asked for; ties break by uid, in the same direction, so that `desc` is `asc` backwards. */
function inOrder(kept: readonly Kept[], order: string): string[] {
  const [column, direction] = order.split(" ") as [keyof Kept, string];
  const sign = direction === "desc" ? -1 : 1;
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...kept]
    .sort((a, b) => sign * (compare(a[column], b[column]) || compare(a.uid, b.uid)))
    .map(({ uid }) => uid);
}

/** Runs `work` on each item, `width` at a time. */
async function eachOf<T>(
  items: readonly T[],
  width: number,
  work: (item: T, i: number) => Promise<void>,
): Promise<void> {
  const rest = items.entries();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const [i, item] of rest) await work(item, i);
    }),
  );
}

function readNames(): readonly string[] {
  const file = new URL("../../../shared/data/catalog.txt", import.meta.url);
  if (existsSync(file)) return readFileSync(file, "utf8").trimEnd().split("\n");
  console.warn("the catalogue's names are not here; 1616 made-up names stand in for them");
  const stems = ["nginx", "kube-state", "postgres", "go", "argo-workflow", "zot", "python", "jdk", "cilium", "etcd"];
  return Array.from(
    { length: 1616 },
    (_, i) => `${stems[i % stems.length]}-${String.fromCharCode(97 + (i % 26))}${i}-fips`,
  );
}
