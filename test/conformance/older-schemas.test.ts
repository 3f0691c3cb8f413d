/**
 * Databases of every schema that a server has had, made by the server of that time through its API (SQLite files, and
 * what it listed), open in today's.
 */
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { readInstallation, startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { createLogger } from "../../src/log.ts";
import { openDatabase } from "../../src/store/index.ts";
import { temporaryFolder } from "../cli/platform-process.ts";
import type { Json } from "./contract.ts";

const folder = join(import.meta.dirname, "older-schemas");
const schemas = readdirSync(folder).flatMap((name) => (name.endsWith(".json") ? [name.slice(0, -".json".length)] : []));

/** What a list answers: everything, and how many the counters say that there are. */
interface Listed {
  readonly totalCount: string;
  readonly items: readonly Json[];
}

test.each(schemas)("what a server with the schema %s has stored is listed equal by today's", async (schema) => {
  const path = join(await temporaryFolder(), "platform.db");
  await writeFile(path, gunzipSync(readFileSync(join(folder, `${schema}.db.gz`))));
  const { lists } = JSON.parse(readFileSync(join(folder, `${schema}.json`), "utf8")) as {
    lists: Record<string, Listed>;
  };
  const flags = { listen: "127.0.0.1:0", database: `sqlite:${path}` };
  const server = await startServer(readConfig({ flags, env: {}, warn: () => {} }), createLogger("silent"));
  onTestFinished(() => server.stop());
  const database = await openDatabase(flags.database);
  const { administratorUid } = (await readInstallation(database.read))!;
  await database.close();
  const headers = { authorization: `Bearer ${await server.mintToken(administratorUid, 600)}` };
  expect(Object.keys(lists).length).toBeGreaterThan(4);
  for (const [list, { totalCount, items }] of Object.entries(lists)) {
    const answer = (await (await fetch(`${server.baseUrl}${list}?page_size=200`, { headers })).json()) as Json;
    const [listed] = Object.values(answer).filter(Array.isArray) as Json[][];
    const byUid = new Map(listed!.map((item) => [item.uid, item]));
    for (const item of items) expect(byUid.get(item.uid), `${list} ${item.uid}`).toMatchObject(withoutEtag(item));
    // Roles that are built in have become more; all others are counted as they were.
    expect(answer.totalCount, list).toBe(String(listed!.length));
    if (list !== "/iam/v2/roles") expect(answer.totalCount, list).toBe(totalCount);
  }
});

/** How an etag is written has changed; clients only compare it. */
function withoutEtag({ etag: _, ...rest }: Json): Json {
  return rest;
}
