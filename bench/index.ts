/**
 * `npm run bench`: compares this server with alternatives on this machine. Only ratios within one run are meaningful:
 * each pair is measured alternately, both warmed up, several times, and the median ratio is printed with its spread.
 * See docs/performance.md.
 *
 *     npm run bench                              all rows, on up to 1,000,000 repos
 *     npm run bench -- --quick                   the main rows, in less than five minutes
 *     npm run bench -- --large                   also on 10,000,000 repos
 *     npm run bench -- --postgres URL            the main rows also on PostgreSQL, or DATABASE_URL
 *     npm run bench -- --pgbench URL             on PostgreSQL, against pgbench on the same database
 *     npm run bench -- --peer NAME=HOST:PORT     another REST peer that serves the same two paths
 *     npm run bench -- --only TEXT               rows with this text in their names; writes no results
 *     npm run bench -- --against REF             this working tree against another commit; with --quick, three starts
 *     npm run bench -- --budget [--against REF]  what each step of a call costs, after the same of another commit
 *     npm run bench -- --overload                expensive calls, floods, several processes, killed processes
 *     npm run bench -- --overload --only neighbour   only what one organisation costs another
 *     npm run bench -- --findings                what questions about findings cost; --quick takes a tenth of the data
 *     npm run bench -- --soak [MINUTES]          full load of all kinds: checks memory growth and event loop stalls
 *     npm run bench -- --soak --workers N        the same on several processes, beside a client that searches
 */
import { parseArgs } from "node:util";
import { compareCommits } from "./against.ts";
import { keepBest, printDistances } from "./best.ts";
import { measureBudget } from "./budget.ts";
import { writeDocs } from "./docs.ts";
import { findings } from "./findings.ts";
import { Meter } from "./measure.ts";
import { languageOf, programOf } from "./native-peers.ts";
import { overload } from "./overload.ts";
import { comparePgbench } from "./pgbench.ts";
import { startLoad, stopAll } from "./processes.ts";
import { type Row, rowsOf } from "./rows.ts";
import { Servers } from "./servers.ts";
import { soak } from "./soak.ts";
import { type Outcome, printHead, printOutcome, writeResults } from "./table.ts";

const { values, positionals } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    large: { type: "boolean", default: false },
    overload: { type: "boolean", default: false },
    findings: { type: "boolean", default: false },
    soak: { type: "boolean", default: false },
    workers: { type: "string", default: "1" },
    postgres: { type: "string" },
    pgbench: { type: "string" },
    peer: { type: "string", multiple: true, default: [] },
    only: { type: "string" },
    against: { type: "string" },
    budget: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const { quick, large, only } = values;
const soakMinutes = Number(positionals[0] ?? 10);
if (!(soakMinutes > 0)) throw new Error(`--soak takes minutes, not ${positionals[0]}`);
const postgres = values.pgbench ?? values.postgres ?? process.env.DATABASE_URL;
const timing = quick
  ? { rounds: 3, durationMs: 1500, warmUpMs: 300, firstWarmUpMs: 7_000 }
  : { rounds: 5, durationMs: 3000, warmUpMs: 500, firstWarmUpMs: 15_000 };
/** Filling PostgreSQL takes longer than the measurement. */
const maxPostgresRows = quick ? 100_000 : 1_000_000;

const servers = new Servers(postgres);
try {
  if (values.soak) {
    const workers = Number(values.workers);
    const platform = workers === 1 ? await servers.platform(100_000) : await servers.program(100_000, workers);
    await soak(platform, startLoad(), soakMinutes);
  } else if (values.budget) await measureBudget(values.against, startLoad());
  else if (values.against !== undefined)
    await compareCommits(values.against, startLoad(), only, quick ? { starts: 3, turns: 8 } : { starts: 7, turns: 20 });
  else if (values.pgbench !== undefined) await comparePgbench(servers, startLoad(), quick ? 100_000 : 1_000_000);
  else if (values.overload)
    await overload({
      ...(quick ? { repos: 100_000, advisories: 30_000 } : { repos: 1_000_000, advisories: 300_000 }),
      onlyNeighbour: only === "neighbour",
    });
  else if (values.findings)
    await findings({ images: quick ? 1_000 : 10_000, packagesOfImage: 500, advisories: quick ? 5_000 : 50_000 });
  else await compareAll();
} finally {
  stopAll();
  await servers.remove();
}

/** Whether the peer of a row is there. */
function isBuilt({ peer }: Row): boolean {
  const language = typeof peer === "object" && "program" in peer ? languageOf(peer.program) : undefined;
  return language === undefined || programOf(language) !== undefined;
}

async function compareAll(): Promise<void> {
  const meter = new Meter(servers, startLoad(), timing);
  const outcomes: Outcome[] = [];
  printHead();
  for (const row of rowsOf({ quick, large, peers: values.peer })) {
    if ((only !== undefined && !row.name.includes(only)) || !isBuilt(row)) continue;
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
  printDistances(outcomes);
  if (only !== undefined) return;
  keepBest(outcomes);
  writeDocs(writeResults(quick ? "quick" : "full", outcomes));
}
