/** Measures rows: finds both sides of a row and measures them in pairs. */
import { join } from "node:path";
import type { Job, Measured } from "./load.ts";
import { type Comparison, comparePairs, measurePairs, type Pair, type Side } from "./pairs.ts";
import { bareInserts } from "./peers/sqlite.ts";
import { emptyLogs, folder } from "./processes.ts";
import { requests, type Target } from "./requests.ts";
import type { Row } from "./rows.ts";
import type { DatabaseKind, Servers } from "./servers.ts";

/** Durations of one measurement. */
interface Round {
  readonly durationMs: number;
  /** Warm-up before each measurement. */
  readonly warmUpMs: number;
}

/** Durations of a run. */
export interface Timing extends Round {
  readonly rounds: number;
  /** Longest warm-up before the first measurement of a request. */
  readonly firstWarmUpMs: number;
}

/** Measurements that alternate so fast that both sides see the same machine. */
const shortRound: Round = { durationMs: 400, warmUpMs: 100 };
const shortRounds = 20;

/** Minimum concurrency of the first warm-up. */
const warmUpConcurrency = 32;

/** Measures rows one after another. */
export class Meter {
  readonly #servers: Servers;
  readonly #load: (job: Job) => Promise<Measured>;
  readonly #timing: Timing;
  readonly #warm = new Set<string>();
  readonly #measured = new Map<string, Pair[]>();

  constructor(servers: Servers, load: (job: Job) => Promise<Measured>, timing: Timing) {
    this.#servers = servers;
    this.#load = load;
    this.#timing = timing;
  }

  /**
   * Compares the platform, on this kind of database, with the peer of a row. Rows that differ only by figure share
   * measurements.
   */
  async compare(row: Row, kind: DatabaseKind): Promise<Comparison> {
    const { request, peer, peerRequest = request, rows, concurrency, figure } = row;
    const key = JSON.stringify([kind, request, peer, peerRequest, rows, concurrency]);
    const pairs = this.#measured.get(key) ?? (await this.#pairs(row, kind));
    this.#measured.set(key, pairs);
    emptyLogs();
    return comparePairs(pairs, figure);
  }

  async #pairs(row: Row, kind: DatabaseKind): Promise<Pair[]> {
    const { request, peer, peerRequest = request, rows } = row;
    if (typeof peer === "object" && "without" in peer) return this.#pairsOfStarts(row, peer.without);
    return measurePairs(
      this.#side(row, request, await this.#servers.platform(rows, kind), kind),
      peer === "sqlite" ? this.#inserts() : this.#side(row, peerRequest, await this.#peer(row, kind), kind),
      this.#timing.rounds,
    );
  }

  /**
   * Starts both sides anew several times, and takes the mean of short measurements of each start: V8 compiles the same
   * program to code that differs by several percent from start to start, which is more than what is measured here.
   */
  async #pairsOfStarts(row: Row, without: "metrics"): Promise<Pair[]> {
    const pairs: Pair[] = [];
    for (let start = 0; start < 2 * this.#timing.rounds - 1; start++) {
      const both = await this.#servers.startPair(row.rows, without, start % 2 === 0);
      const [ours, peer] = both.map((target) => this.#side(row, row.request, target, "sqlite", shortRound));
      pairs.push(meanOf(await measurePairs(ours!, peer!, shortRounds)));
      for (const { stop } of both) stop();
      emptyLogs();
    }
    return pairs;
  }

  async #peer({ peer, rows }: Row, kind: DatabaseKind): Promise<Target> {
    if (peer === "sqlite") throw new Error("no server");
    if ("program" in peer) return this.#servers.peer(peer.program, rows);
    if ("rows" in peer) return this.#servers.platform(peer.rows, kind);
    if ("without" in peer) throw new Error("both sides are started anew");
    const { hostname, port } = new URL(`http://${peer.address}`);
    return { ...(await this.#servers.platform(rows)), host: hostname, port: Number(port) };
  }

  #side(
    { concurrency }: Row,
    name: Row["request"],
    target: Target,
    kind: DatabaseKind,
    round: Round = this.#timing,
  ): Side {
    const { firstWarmUpMs } = this.#timing;
    const { durationMs, warmUpMs } = round;
    const job = { ...requests[name](target), durationMs, warmUpMs, concurrency, yieldsCore: kind === "postgres" };
    const key = `${target.host}:${target.port} ${name}`;
    return {
      warm: async () => {
        if (this.#warm.has(key)) return;
        this.#warm.add(key);
        const warmUp = { untilSteady: true, warmUpMs: firstWarmUpMs, durationMs: 0 };
        await this.#load({ ...job, ...warmUp, concurrency: Math.max(concurrency, warmUpConcurrency) });
      },
      measure: () => this.#load(job),
    };
  }

  #inserts(): Side {
    const insert = async (durationMs: number) => bareInserts(join(folder, "bare.db"), durationMs);
    return { warm: async () => void (await insert(500)), measure: () => insert(this.#timing.durationMs) };
  }
}

function meanOf(pairs: readonly Pair[]): Pair {
  const mean = (side: "ours" | "peer", figure: keyof Measured) =>
    pairs.reduce((sum, pair) => sum + pair[side][figure], 0) / pairs.length;
  const measured = (side: "ours" | "peer"): Measured => ({
    perSecond: mean(side, "perSecond"),
    medianMs: mean(side, "medianMs"),
    p99Ms: mean(side, "p99Ms"),
    answers: mean(side, "answers"),
  });
  return { ours: measured("ours"), peer: measured("peer") };
}
