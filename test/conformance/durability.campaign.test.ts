/**
 * What is acknowledged is kept. The server is killed in the middle of writes, again and again over one SQLite file. A
 * killed process is not a power failure: that commits reach the disk is up to `synchronous=FULL`.
 */
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { campaign } from "../campaign.ts";
import { startPlatform, startPlatformForTest } from "../cli/platform-process.ts";
import { type RestClient, type Row, restClient } from "../cli/rest-client.ts";
import { runHere } from "../cli/run-here.ts";
import { type EmptyDatabase, emptySqlite } from "./databases.ts";
import { contentOf, emptyLedger, type Kind, type Ledger, lists, type Place, startWorkload } from "./workload.ts";

const rounds = campaign({ short: 3, full: 6 });

describe("a killed server", () => {
  let database: EmptyDatabase;
  let settings: string[];
  let token: string;
  let place: Place;
  let administrator: string;
  const ledger = emptyLedger();

  beforeAll(async () => {
    database = await emptySqlite();
    settings = ["--database", database.url, "--listen", "127.0.0.1:0", "--log-level", "error"];
    const init = await runHere(["init", "--json", "--database", database.url]);
    const facts = JSON.parse(init.stdout);
    token = facts.token;
    administrator = facts.identityUid;
    place = { root: facts.rootGroupUid, viewerRole: "" };
  });
  afterAll(() => database?.remove());

  test(`${rounds} times in the middle of writes, it keeps what it acknowledged and nothing by halves`, {
    timeout: 240_000,
  }, async () => {
    let cutOff = 0;
    for (let round = 1; round <= rounds; round++) {
      const server = await startPlatform(settings);
      try {
        const rest = restClient(server.baseUrl, token);
        place = { ...place, viewerRole: (await rest.get("/iam/v2/roles?name=viewer")).body.roles[0].uid };
        await checkAndSettle(rest, database, ledger, administrator, round);
        const workload = startWorkload(rest, place, ledger, 8);
        const enough = ledger.acknowledged + 50 + Math.random() * 100;
        while (ledger.acknowledged < enough) await setTimeout(5);
        await server.end("SIGKILL");
        expect(await workload.stop()).toEqual([]);
        cutOff += ledger.cutOff.length;
      } finally {
        await server.end("SIGKILL");
      }
    }
    const server = await startPlatformForTest(settings);
    await checkAndSettle(restClient(server.baseUrl, token), database, ledger, administrator, rounds + 1);
    console.log(
      `${rounds} kills: ${ledger.acknowledged} writes acknowledged, ${cutOff} cut off, ${ledger.rows.size} rows left`,
    );
    expect(cutOff).toBeGreaterThan(rounds);
  });
});

/** Compares the server with the ledger, and enters there how the calls that were cut off ended. */
async function checkAndSettle(
  rest: RestClient,
  database: EmptyDatabase,
  ledger: Ledger,
  administrator: string,
  round: number,
): Promise<void> {
  const found = new Map<string, { kind: Kind; content: string; row: Row }>();
  for (const [kind, [path, field]] of Object.entries(lists) as [Kind, (typeof lists)[Kind]][]) {
    const { rows, totalCount } = await rest.walk(path, field);
    expect(totalCount, `round ${round}: total of ${kind}`).toBe(rows.length);
    for (const row of rows) found.set(row.uid, { kind, content: contentOf(kind, row), row });
  }
  const cutOff = ledger.cutOff;
  ledger.cutOff = [];
  for (const call of cutOff) {
    if (call.does === "create") {
      const [uid, row] =
        [...found].find(
          ([uid, { kind, content }]) => kind === call.kind && content === call.content && !ledger.rows.has(uid),
        ) ?? [];
      if (uid !== undefined && row !== undefined) ledger.rows.set(uid, { kind: row.kind, content: row.content });
    } else if (call.does === "update") {
      const row = ledger.rows.get(call.uid)!;
      if (found.get(call.uid)?.content === call.content) row.content = call.content;
    } else {
      const left = call.uids.filter((uid) => found.has(uid));
      expect(
        [0, call.uids.length],
        `round ${round}: a delete of ${call.uids.length} rows left ${left.length}`,
      ).toContain(left.length);
      if (left.length > 0) continue;
      for (const uid of call.uids) {
        ledger.rows.delete(uid);
        ledger.deleted.add(uid);
      }
    }
  }
  const kept = [...ledger.rows].map(([uid, { kind, content }]) => `${kind} ${uid} ${content}`);
  const there = [...found].map(([uid, { kind, content }]) => `${kind} ${uid} ${content}`);
  expect(
    kept.filter((row) => !there.includes(row)),
    `round ${round}: lost`,
  ).toEqual([]);
  expect(
    [...ledger.deleted].filter((uid) => found.has(uid)),
    `round ${round}: came back`,
  ).toEqual([]);

  // Rows nobody here made: the first group, the administrator and its binding, and the owner binding of each root
  // group.
  const rootGroups = [...found].filter(([uid, { kind }]) => kind === "group" && !uid.includes("/"));
  const owned = [...found.values()].filter(({ kind, row }) => kind === "roleBinding" && row.role.name === "owner");
  const made = [...found]
    .filter(([uid]) => !ledger.rows.has(uid))
    .map(([, { kind, row }]) => `${kind} ${row.name ?? row.role.name}`);
  const owners = Array(rootGroups.length - 1).fill("roleBinding owner");
  expect(made.sort(), `round ${round}: rows from nowhere`).toEqual(
    ["group platform", "identity administrator", "roleBinding platform.admin", ...owners].sort(),
  );
  expect(owned.map(({ row }) => `${row.group.uid} ${row.identity.uid}`).sort()).toEqual(
    rootGroups
      .filter(([, { row }]) => row.name !== "platform")
      .map(([uid]) => `${uid} ${administrator}`)
      .sort(),
  );
  const orphans = [...found.keys()].filter(
    (uid) => uid.includes("/") && !found.has(uid.slice(0, uid.lastIndexOf("/"))),
  );
  expect(orphans, `round ${round}: rows without their parent`).toEqual([]);

  // Totals come from counters of each subtree: they must agree with the rows there.
  for (const [root] of rootGroups.slice(-5)) {
    for (const kind of ["repo", "tag", "group"] as const) {
      const { body } = await rest.get(`${lists[kind][0]}?page_size=1&uidp.descendants_of=${root}`);
      const below = [...found].filter(([uid, row]) => row.kind === kind && uid.startsWith(`${root}/`));
      expect(Number(body.totalCount), `round ${round}: ${kind}s below ${root}`).toBe(below.length);
    }
  }
  using file = new DatabaseSync(database.url.slice("sqlite:".length), { readOnly: true });
  expect(file.prepare("pragma integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
}
