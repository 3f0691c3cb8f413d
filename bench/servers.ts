/** The servers of a run, started with their databases on first use. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { fill, fillAdvisories } from "./data.ts";
import { languageOf, programOf } from "./native-peers.ts";
import type { Health } from "./peers/platform.ts";
import { expensivePath, folder, type Running, start, startExpensiveLoad, startNative } from "./processes.ts";
import { recordedStalls, runCommand, startProgram } from "./program.ts";
import type { Target } from "./requests.ts";

/** Kind of the platform's database. */
export type DatabaseKind = "sqlite" | "postgres";

/** A running platform. */
export interface Platform extends Target {
  /** Of its database. */
  readonly url: string;
  readonly administrator: string;
  health(): Promise<Health>;
}

/** The servers of a run. */
export class Servers {
  readonly #postgres: string | undefined;
  readonly #started = new Map<string, Promise<unknown>>();
  readonly #databases: string[] = [];

  /** @param postgres a PostgreSQL server whose user may create databases. */
  constructor(postgres?: string) {
    this.#postgres = postgres;
  }

  /** The platform with this number of repos. */
  platform(rows: number, kind: DatabaseKind = "sqlite"): Promise<Platform> {
    return this.#once(`${kind}-${rows}`, () => this.#startPlatform(rows, kind));
  }

  /** Starts two platforms on the database of {@link platform}: one as it is, one without something. */
  async startPair(
    rows: number,
    without: "metrics",
    isWholeFirst: boolean,
  ): Promise<readonly [Target & Running, Target & Running]> {
    const { administrator, ...target } = await this.platform(rows);
    const begin = async (...options: string[]) => ({
      ...target,
      ...(await start<{ port: number; token: string }>("peers/platform.ts", [target.url, administrator, ...options])),
    });
    if (isWholeFirst) return [await begin(), await begin(`no-${without}`)];
    const peer = await begin(`no-${without}`);
    return [await begin(), peer];
  }

  /**
   * The program with this number of processes on SQLite, with repos and a third as many advisories. A client searches
   * these all the time.
   */
  async program(rows: number, workers: number): Promise<Platform> {
    const databaseFolder = join(folder, `workers-${rows}`);
    mkdirSync(databaseFolder);
    const url = `sqlite:${join(databaseFolder, "platform.db")}`;
    const { rootGroupUid: root, administratorUid: administrator } = JSON.parse(
      runCommand(["init", "--json", "--database", url]),
    );
    const repo = await fill(url, join(databaseFolder, "peer.db"), root, rows);
    await fillAdvisories(url, root, rows / 3);
    const limits = ["read", "list", "write"].flatMap((name) => [`--rate-limit-${name}`, "1000000/1000000"]);
    const program = await startProgram(url, [...limits, "--workers", String(workers)], true);
    const { port, token } = program;
    startExpensiveLoad("loop", { port, token, path: expensivePath });
    const health = async () => {
      program.emptyLog();
      return { rssMb: program.rssMb(), cpuMs: program.cpuMs(), stalls: recordedStalls() };
    };
    return { host: "127.0.0.1", port, token, root, repo, url, administrator, health };
  }

  /** A program of the folder `peers`, on the same repos as the platform. */
  peer(name: string, rows: number): Promise<Target> {
    return this.#once(name, async () => {
      const { root, repo, token } = await this.platform(rows);
      const file = join(folder, `sqlite-${rows}`, "peer.db");
      const language = languageOf(name);
      if (language !== undefined) {
        const { port } = await startNative<{ port: number }>(programOf(language)!, [name, file, token]);
        return { host: "127.0.0.1", port, root, repo, token };
      }
      const ports = await start<{ port: number; http1Port?: number }>(`peers/${name}.ts`, [file, root, repo, token]);
      return { ...ports, host: "127.0.0.1", root, repo, token };
    });
  }

  /** Drops the databases created in PostgreSQL. */
  async remove(): Promise<void> {
    for (const name of this.#databases) await this.#query(`drop database if exists ${name} with (force)`);
  }

  #once<T>(name: string, make: () => Promise<T>): Promise<T> {
    const started = this.#started.get(name) ?? make();
    this.#started.set(name, started);
    return started as Promise<T>;
  }

  async #startPlatform(rows: number, kind: DatabaseKind): Promise<Platform> {
    const databaseFolder = join(folder, `${kind}-${rows}`);
    mkdirSync(databaseFolder);
    const url = kind === "sqlite" ? `sqlite:${join(databaseFolder, "platform.db")}` : await this.#createDatabase();
    type Installed = { root: string; administrator: string };
    const { root, administrator } = await start<Installed>("peers/platform.ts", [url, "initialise"]);
    const repo = await fill(url, join(databaseFolder, "peer.db"), root, rows);
    type Ready = { port: number; token: string };
    const { port, token, ask }: Ready & Running = await start<Ready>("peers/platform.ts", [url, administrator]);
    return { host: "127.0.0.1", port, token, root, repo, url, administrator, health: () => ask<Health>("health") };
  }

  async #createDatabase(): Promise<string> {
    const name = `platform_bench_${randomBytes(6).toString("hex")}`;
    await this.#query(`create database ${name}`);
    this.#databases.push(name);
    const url = new URL(this.#postgres!);
    url.pathname = `/${name}`;
    return url.href;
  }

  async #query(text: string): Promise<void> {
    const client = new pg.Client(this.#postgres);
    await client.connect();
    await client.query(text);
    await client.end();
  }
}
