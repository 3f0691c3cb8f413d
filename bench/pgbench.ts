/**
 * The platform on PostgreSQL against pgbench on the same database: a select of one row, of 50 rows with their total,
 * and a bare insert, each prepared. Ratios of rates, measured in turns.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Job, Measured } from "./load.ts";
import { folder } from "./processes.ts";
import { type RequestName, requests } from "./requests.ts";
import type { Platform, Servers } from "./servers.ts";
import { round2 } from "./table.ts";

interface PgbenchRow {
  readonly name: string;
  readonly request: RequestName;
  readonly clients: number;
  /** What pgbench runs. */
  readonly script: string;
  readonly bar: string;
}

const rounds = 3;
const seconds = 4;

/** Measures and prints the rows. */
export async function comparePgbench(
  servers: Servers,
  load: (job: Job) => Promise<Measured>,
  repos: number,
): Promise<void> {
  if (spawnSync("pgbench", ["--version"]).status !== 0) {
    console.log("pgbench is missing (Debian: postgresql-contrib): its rows are skipped");
    return;
  }
  const platform = await servers.platform(repos, "postgres");
  const { root, repo, url } = platform;
  const rows: PgbenchRow[] = [
    {
      name: "pg.get/pgbench",
      request: "rest.get",
      clients: 16,
      script: `select packed, name from repos where uid = '${repo}';`,
      bar: "0.2, 0.3",
    },
    {
      name: "pg.list50/pgbench",
      request: "rest.list50",
      clients: 16,
      script: [
        `select packed, name from repos where uid >= '${root}/' and uid < '${root}0' order by uid limit 51;`,
        `select sum(count) from counters where ancestor = '${root}' and table_name = 'repos' and class = 'below';`,
      ].join("\n"),
      bar: "0.35, 0.6",
    },
    {
      name: "pg.create/pgbench-insert",
      request: "rest.create",
      clients: 50,
      script: [
        "\\set n random(1, 9000000000000000000)",
        "insert into bare_inserts (uid, name, body) values ('x' || :n, 'name', 'the body of a row') on conflict do nothing;",
      ].join("\n"),
      bar: "0.25, 0.5",
    },
  ];
  runPsql(url, "create table bare_inserts (uid text primary key, name text not null, body text not null)");
  for (const { name, request, clients, script, bar } of rows) {
    const file = join(folder, "pgbench.sql");
    writeFileSync(file, `${script}\n`);
    const job = { ...requests[request](platform), concurrency: clients, durationMs: seconds * 1000, yieldsCore: true };
    await load({ ...job, warmUpMs: 5000 });
    const pairs: { ours: Measured; theirs: number }[] = [];
    for (let i = 0; i < rounds; i++)
      pairs.push({ ours: await load({ ...job, warmUpMs: 500 }), theirs: runPgbench(url, file, clients) });
    const ratio = ({ ours, theirs }: (typeof pairs)[number]) => ours.perSecond / theirs;
    pairs.sort((a, b) => ratio(a) - ratio(b));
    const middle = pairs[Math.floor(rounds / 2)]!;
    const rates = `${Math.round(middle.ours.perSecond)}/s p99 ${round2(middle.ours.p99Ms)} ms, pgbench ${Math.round(middle.theirs)}/s`;
    const spread = `${round2(ratio(pairs[0]!))}–${round2(ratio(pairs.at(-1)!))}`;
    console.log(
      `${name.padEnd(26)} ${String(round2(ratio(middle))).padEnd(6)} ${spread.padEnd(12)} ${bar.padEnd(10)} ${rates}`,
    );
  }
  await compareCpu(servers, load, repos);
}

/** Compares what a Get costs the server itself, in CPU time, with the same on SQLite. */
async function compareCpu(servers: Servers, load: (job: Job) => Promise<Measured>, repos: number): Promise<void> {
  const costOf = async (platform: Platform) => {
    const job = { ...requests["rest.get"](platform), concurrency: 16, yieldsCore: true };
    const before = await platform.health();
    const { perSecond } = await load({ ...job, warmUpMs: 0, durationMs: seconds * 1000 });
    return ((await platform.health()).cpuMs - before.cpuMs) / (perSecond * seconds);
  };
  const [onPostgres, onSqlite] = [await servers.platform(repos, "postgres"), await servers.platform(repos)];
  const pairs: { ours: number; theirs: number }[] = [];
  for (let i = 0; i <= rounds; i++) {
    const pair = { ours: await costOf(onPostgres), theirs: await costOf(onSqlite) };
    if (i > 0) pairs.push(pair); // the first warms up
  }
  const ratio = ({ ours, theirs }: (typeof pairs)[number]) => ours / theirs;
  pairs.sort((a, b) => ratio(a) - ratio(b));
  const middle = pairs[Math.floor(rounds / 2)]!;
  const costs = `${round2(middle.ours * 1000)} µs, on SQLite ${round2(middle.theirs * 1000)} µs`;
  const spread = `${round2(ratio(pairs[0]!))}–${round2(ratio(pairs.at(-1)!))}`;
  console.log(
    `${"pg.get/sqlite CPU".padEnd(26)} ${String(round2(ratio(middle))).padEnd(6)} ${spread.padEnd(12)} ${"at most 3".padEnd(10)} ${costs}`,
  );
}

/** Transactions a second. */
function runPgbench(url: string, file: string, clients: number): number {
  const options = ["-n", "-M", "prepared", "-c", String(clients), "-j", "1", "-T", String(seconds), "-f", file, url];
  const { stdout, stderr } = spawnSync("pgbench", options, { encoding: "utf8" });
  const rate = /tps = ([\d.]+)/.exec(stdout);
  if (rate === null) throw new Error(`pgbench printed no rate: ${stderr}`);
  return Number(rate[1]);
}

function runPsql(url: string, statement: string): void {
  const { status, stderr } = spawnSync("psql", ["-q", "-c", statement, url], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}
