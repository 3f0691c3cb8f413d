/** The records of a group and of what is below it are found by an index, as if each had been looked at. */
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { expect, test } from "vitest";
import {
  type AuditFilter,
  type AuditLine,
  type AuditPlace,
  type AuditRecord,
  appendAudit,
  auditEntry,
  countAudit,
  emptyRecord,
  isSelected,
  listAudit,
  readAudit,
} from "../../src/audit/index.ts";
import { sessionSettings } from "../../src/store/engines/postgres/session-settings.ts";
import type { Database, ReadSession } from "../../src/store/index.ts";
import { logsOf, scanValues } from "../../src/store/logs/log.ts";
import { parametersOf } from "../../src/store/sql/statement.ts";
import { Random } from "../codec/random.ts";
import { onEveryDatabase, type TestDatabase } from "./databases.ts";
import { dialectOf } from "./migrate-up-to.ts";

const [one, other] = ["a".repeat(40), "b".repeat(40)] as const;
const child = (parent: string, digit: number | string) => `${parent}/${String(digit).repeat(16)}`;
/** Uids of every level, below two roots. */
const uids = [one, other].flatMap((root) => {
  const groups = [child(root, 1), child(root, 2)];
  const inner = [child(groups[0]!, 3), child(groups[1]!, 3)];
  const deep = child(child(inner[0]!, 4), 5);
  return [root, ...groups, ...inner, child(inner[0]!, 4), deep, child(deep, 6), child(deep, 7)];
});
const callers = [...uids, "c".repeat(40), "", "cli:somebody-with-a-long-name@a-host-with-a-name-as-long"];
const startMs = Date.UTC(2026, 10, 5, 12);

async function write(database: Database, records: readonly AuditRecord[]): Promise<void> {
  await database.transact(async (session) => {
    for (const [i, record] of records.entries()) await appendAudit(session, auditEntry(record, startMs + i));
  });
}

const record = (change: Partial<AuditRecord>): AuditRecord => ({
  ...emptyRecord,
  method: "platform.iam.v2.GroupsService/CreateGroup",
  code: "OK",
  count: 1,
  ...change,
});

async function all(lines: AsyncIterable<AuditLine>): Promise<AuditLine[]> {
  const found = [];
  for await (const line of lines) found.push(line);
  return found;
}

async function listAll(session: ReadSession, filter: AuditFilter, limit: number) {
  const found = [];
  let after: AuditPlace | undefined;
  do {
    const page = await listAudit(session, filter, { after, limit });
    expect(page.lines.length).toBeLessThanOrEqual(limit);
    found.push(...page.lines);
    after = page.last;
  } while (after !== undefined);
  return found;
}

onEveryDatabase("the places of audit records", (database) => {
  test("have the records that a look at each would find, in both orders", async () => {
    const db = await database().open();
    const random = new Random(7);
    const records = Array.from({ length: 400 }, () => {
      const scope = random.pick([...uids, ""]);
      const below = uids.filter((uid) => uid.startsWith(scope));
      const resource = random.pick([scope, "", "CVE-2026-1", random.pick(below), random.pick(uids)]);
      const code = random.pick(["OK", "NOT_FOUND"]);
      return record({ caller: random.pick(callers), scope, resource, code });
    });
    await write(db, records);
    const every = await all(readAudit(db.read, {}));
    expect(every).toHaveLength(400);
    for (const scope of [...uids, child(other, 9), "d".repeat(40)]) {
      for (const more of [{}, { code: "OK" }, { caller: random.pick(uids) }]) {
        const filter = { scope, ...more };
        const expected = every.filter((line) => isSelected(line, filter));
        expect(await all(readAudit(db.read, filter))).toEqual(expected);
        expect(await listAll(db.read, filter, 30)).toEqual(expected.toReversed());
        expect(await countAudit(db.read, filter)).toEqual({ count: expected.length, isEstimated: false });
      }
      const [sinceMs, untilMs] = [startMs + 100, startMs + 300];
      const between = every.slice(100, 300).filter((line) => isSelected(line, { scope }));
      expect(await all(readAudit(db.read, { scope, sinceMs, untilMs }))).toEqual(between);
      expect(await listAll(db.read, { scope, sinceMs, untilMs }, 7)).toEqual(between.toReversed());
    }
  });

  test("belong to a group by what a record is about, and to an identity that called outside of its group", async () => {
    const db = await database().open();
    const [group, sibling] = [child(one, 1), child(one, 2)];
    const identity = child(group, 8);
    await write(db, [
      record({ requestId: "created in the group", scope: group, resource: child(group, 4) }),
      record({ requestId: "created in the root", scope: one, resource: child(one, 4) }),
      record({ requestId: "a root group", resource: one }),
      record({ requestId: "another resource than the scope's", scope: group, resource: sibling }),
      record({ requestId: "in the sibling", scope: sibling, caller: identity }),
      record({ requestId: "at the token service", caller: identity }),
      record({ requestId: "in its own group", scope: group, caller: identity }),
      record({ requestId: "in another root", scope: other, caller: identity }),
    ]);
    const found = async (scope: string) =>
      (await listAll(db.read, { scope }, 50)).map(({ requestId }) => requestId).reverse();
    expect(await found(group)).toEqual([
      "created in the group",
      "another resource than the scope's",
      "in the sibling",
      "at the token service",
      "in its own group",
    ]);
    expect(await found(identity)).toEqual(["in the sibling", "at the token service"]);
    expect(await found(sibling)).toEqual(["in the sibling"]);
    expect(await found(one)).toHaveLength(7); // what happens in another root is not its own
    expect(await found(other)).toEqual(["in another root"]);
  });

  test("are looked at up to a bound", async () => {
    const db = await database().open();
    const rare = record({ scope: one, code: "PERMISSION_DENIED" });
    await write(db, [rare, ...Array.from({ length: 2500 }, () => record({ scope: one })), rare]);
    const filter = { scope: one, code: "PERMISSION_DENIED" };
    const first = await listAudit(db.read, filter, { limit: 10 });
    expect(first.lines).toHaveLength(1);
    const second = await listAudit(db.read, filter, { limit: 10, after: first.last });
    expect(second).toMatchObject({ lines: [], last: { id: expect.any(String) } });
    expect(await listAll(db.read, filter, 10)).toHaveLength(2);
    expect(await countAudit(db.read, filter)).toEqual({ count: 1, isEstimated: true });
    expect(await countAudit(db.read, { scope: one })).toEqual({ count: 1000, isEstimated: true });
    expect(await listAll(db.read, { scope: one }, 200)).toHaveLength(2502);
  });

  test("are ranges of indexes, whatever the statistics say", async () => {
    const db = await database().open();
    await write(
      db,
      Array.from({ length: 3000 }, (_, i) => record({ scope: i < 30 ? child(one, 1) : child(child(one, 2), i % 10) })),
    );
    await database().sql("analyze");
    for (const newestFirst of [true, false]) {
      for (const [scope, levels] of [
        [one, [0, 0]],
        [child(one, 1), [1, 1]],
        [child(child(one, 2), 3), [2, 1]],
        [child(child(child(child(one, 2), 3), 4), 5), [3, 1]],
      ] as const) {
        const plan = await planOf(database(), scope, newestFirst);
        expect(plan, scope).toEqual(levels.map((level, i) => `audit_log_${["about", "outside"][i]}_${level}`));
      }
    }
  });
});

/** The indexes whose ranges of times a page reads; or what else it reads. */
async function planOf(database: TestDatabase, at: string, newestFirst: boolean): Promise<string[]> {
  const spec = {
    name: "audit_log",
    columns: { caller: "text", scope: "text", resource: "text", code: "text" },
    places: { scope: "scope", resource: "resource", caller: "caller" },
  } as const;
  const after = { timeUs: startMs * 1000 + 5, id: "a" };
  const scan = { at, newestFirst, after, limit: 51 };
  const statement = logsOf(dialectOf(database))(spec).scan(scan);
  if (database.name === "sqlite") {
    using file = new DatabaseSync(database.url.slice("sqlite:".length));
    const steps = file.prepare(`explain query plan ${statement.text}`).all();
    const reads = steps.map(({ detail }) => String(detail)).filter((detail) => /^(SEARCH|SCAN) audit_log/.test(detail));
    const range = /^SEARCH audit_log USING INDEX (\w+) \(<expr>=\? AND <expr>>\? AND <expr><\?\)$/;
    return reads.map((read) => range.exec(read)?.[1] ?? read);
  }
  const client = new pg.Client(database.url);
  await client.connect();
  try {
    await client.query(sessionSettings);
    await client.query(`prepare explained as ${statement.text}`);
    const literals = parametersOf(statement, scanValues(spec, scan)).map((value) => pg.escapeLiteral(`${value}`));
    const { rows } = await client.query<string[]>({
      text: `explain (costs off) execute explained(${literals.join(", ")})`,
      rowMode: "array",
    });
    const lines = rows.map(([line]) => line!.trim());
    const reads = lines.filter((line) => / on audit_log/.test(line));
    const ranges = lines.filter((line) =>
      /^Index Cond: .* AND \(\(time_us \+ 0\) >= .* AND \(\(time_us \+ 0\) <= /.test(line),
    );
    expect(ranges, lines.join("\n")).toHaveLength(reads.length);
    return reads.map((read) => / using (\w+) /.exec(read)?.[1] ?? read);
  } finally {
    await client.end();
  }
}
