/** Measures rows: finds both sides of a row and measures them in pairs. */
import { join } from "node:path";
import type { Job, Measured } from "./load.ts";
import { type Comparison, comparePairs, measurePairs, type Pair, type Side } from "./pairs.ts";
import { bareInserts } from "./peers/sqlite.ts";
import { emptyLogs, folder } from "./processes.ts";
import { requests, type Target } from "./requests.ts";
import type { Row } from "./rows.ts";
import type { DatabaseKind, Servers } from "./servers.ts";

/** Durations of a run. */
export interface Timing {
  readonly rounds: number;
  readonly durationMs: number;
  /** Warm-up before each measurement. */
  readonly warmUpMs: number;
  /** Longest warm-up before the first measurement of a request. */
  readonly firstWarmUpMs: number;
}

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
    const pairs =
      this.#measured.get(key) ??
      (await measurePairs(
        this.#side(row, request, await this.#servers.platform(rows, kind), kind),
        peer === "sqlite" ? this.#inserts() : this.#side(row, peerRequest, await this.#peer(row, kind), kind),
        this.#timing.rounds,
      ));
    this.#measured.set(key, pairs);
    emptyLogs();
    return comparePairs(pairs, figure);
  }

  async #peer({ peer, rows }: Row, kind: DatabaseKind): Promise<Target> {
    if (peer === "sqlite") throw new Error("no server");
    if ("program" in peer) return this.#servers.peer(peer.program, rows);
    if ("rows" in peer) return this.#servers.platform(peer.rows, kind);
    if ("without" in peer) return this.#servers.without(peer.without, rows);
    const { hostname, port } = new URL(`http://${peer.address}`);
    return { ...(await this.#servers.platform(rows)), host: hostname, port: Number(port) };
  }

  #side({ concurrency }: Row, name: Row["request"], target: Target, kind: DatabaseKind): Side {
    const { rounds: _, firstWarmUpMs, ...timing } = this.#timing;
    const job = { ...requests[name](target), ...timing, concurrency, yieldsCore: kind === "postgres" };
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
