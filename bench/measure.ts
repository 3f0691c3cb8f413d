/** Measures a row: finds its two sides, and pairs them. */
import { join } from "node:path";
import type { Job, Measured } from "./load.ts";
import { type Comparison, comparePairs, measurePairs, type Pair, type Side } from "./pairs.ts";
import { bareInserts } from "./peers/sqlite.ts";
import { emptyLogs, folder } from "./processes.ts";
import { requests, type Target } from "./requests.ts";
import type { Row } from "./rows.ts";
import type { DatabaseKind, Servers } from "./servers.ts";

/** How long a run takes its time. */
export interface Pace {
  readonly rounds: number;
  readonly durationMs: number;
  /** Before each measurement. */
  readonly warmUpMs: number;
  /** Before the first of a request, at most. */
  readonly firstWarmUpMs: number;
}

/** Requests under way while a side is made hot, whatever is measured then. */
const warmUpConcurrency = 32;

/** Measures rows one after another. */
export class Meter {
  readonly #servers: Servers;
  readonly #load: (job: Job) => Promise<Measured>;
  readonly #pace: Pace;
  readonly #hot = new Set<string>();
  readonly #measured = new Map<string, Pair[]>();

  constructor(servers: Servers, load: (job: Job) => Promise<Measured>, pace: Pace) {
    this.#servers = servers;
    this.#load = load;
    this.#pace = pace;
  }

  /** The platform, with its rows on `kind`, and the row's peer. Rows that differ by their figure only share their measurements. */
  async compare(row: Row, kind: DatabaseKind): Promise<Comparison> {
    const { request, peer, peerRequest = request, rows, concurrency, figure } = row;
    const key = JSON.stringify([kind, request, peer, peerRequest, rows, concurrency]);
    const pairs =
      this.#measured.get(key) ??
      (await measurePairs(
        this.#side(row, request, await this.#servers.platform(rows, kind), kind),
        peer === "sqlite" ? this.#inserts() : this.#side(row, peerRequest, await this.#peer(row, kind), kind),
        this.#pace.rounds,
      ));
    this.#measured.set(key, pairs);
    emptyLogs();
    return comparePairs(pairs, figure);
  }

  async #peer({ peer, rows }: Row, kind: DatabaseKind): Promise<Target> {
    if (peer === "sqlite") throw new Error("no server");
    if ("program" in peer) return this.#servers.peer(peer.program, rows);
    if ("rows" in peer) return this.#servers.platform(peer.rows, kind);
    const { hostname, port } = new URL(`http://${peer.address}`);
    return { ...(await this.#servers.platform(rows)), host: hostname, port: Number(port) };
  }

  #side({ concurrency }: Row, name: Row["request"], target: Target, kind: DatabaseKind): Side {
    const { rounds: _, firstWarmUpMs, ...pace } = this.#pace;
    const job = { ...requests[name](target), ...pace, concurrency, yieldsCore: kind === "postgres" };
    const key = `${target.host}:${target.port} ${name}`;
    return {
      warm: async () => {
        if (this.#hot.has(key)) return;
        this.#hot.add(key);
        const hot = { untilSteady: true, warmUpMs: firstWarmUpMs, durationMs: 0 };
        await this.#load({ ...job, ...hot, concurrency: Math.max(concurrency, warmUpConcurrency) });
      },
      measure: () => this.#load(job),
    };
  }

  #inserts(): Side {
    const insert = async (durationMs: number) => bareInserts(join(folder, "bare.db"), durationMs);
    return { warm: async () => void (await insert(500)), measure: () => insert(this.#pace.durationMs) };
  }
}
