/**
 * `npm run bench`: this server beside what a user would pick instead, on this machine, now. Only ratios of one run mean something: each pair is
 * measured in turns, both hot, several times, and the median ratio is given with its spread. docs/performance.md says more.
 *
 *     npm run bench                              every row, on up to 1,000,000 repos
 *     npm run bench -- --quick                   the main rows, in less than five minutes
 *     npm run bench -- --large                   on 10,000,000 repos too
 *     npm run bench -- --postgres URL            the main rows on PostgreSQL too, in databases made there for the run; or DATABASE_URL
 *     npm run bench -- --peer NAME=HOST:PORT     one more REST peer that serves the same two addresses
 *     npm run bench -- --only TEXT               the rows that have this in their name; nothing is written
 *     npm run bench -- --soak [MINUTES]          full load of everything at once: is memory flat, does the event loop stand still?
 */
import { parseArgs } from "node:util";
import { writeDocs } from "./docs.ts";
import { Meter } from "./measure.ts";
import { startLoad, stopAll } from "./processes.ts";
import { rowsOf } from "./rows.ts";
import { Servers } from "./servers.ts";
import { soak } from "./soak.ts";
import { type Outcome, printHead, printOutcome, writeResults } from "./table.ts";

const { values, positionals } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    large: { type: "boolean", default: false },
    soak: { type: "boolean", default: false },
    postgres: { type: "string" },
    peer: { type: "string", multiple: true, default: [] },
    only: { type: "string" },
  },
  allowPositionals: true,
});
const { quick, large, only } = values;
const soakMinutes = Number(positionals[0] ?? 10);
if (!(soakMinutes > 0)) throw new Error(`--soak takes minutes, not ${positionals[0]}`);
const postgres = values.postgres ?? process.env.DATABASE_URL;
const pace = quick
  ? { rounds: 3, durationMs: 1500, warmUpMs: 300, firstWarmUpMs: 7_000 }
  : { rounds: 5, durationMs: 3000, warmUpMs: 500, firstWarmUpMs: 15_000 };
/** Filling PostgreSQL takes longer than the measurement. */
const maxPostgresRows = quick ? 100_000 : 1_000_000;

const servers = new Servers(postgres);
try {
  if (values.soak) await soak(await servers.platform(100_000), startLoad(), soakMinutes);
  else await compareAll();
} finally {
  stopAll();
  await servers.remove();
}

async function compareAll(): Promise<void> {
  const meter = new Meter(servers, startLoad(), pace);
  const outcomes: Outcome[] = [];
  printHead();
  for (const row of rowsOf({ quick, large, peers: values.peer })) {
    if (only !== undefined && !row.name.includes(only)) continue;
    const { name, figure, bar } = row;
    const outcome = {
      name,
      figure,
      ...(bar !== undefined && { bar }),
      sqlite: await meter.compare(row, "sqlite"),
      ...(postgres !== undefined &&
        row.isMain &&
        row.rows <= maxPostgresRows && { postgres: await meter.compare(row, "postgres") }),
    };
    outcomes.push(outcome);
    printOutcome(outcome);
  }
  if (only === undefined) writeDocs(writeResults(quick ? "quick" : "full", outcomes));
}
