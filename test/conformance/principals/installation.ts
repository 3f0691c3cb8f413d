/** One of the two installations, in this process, and its clients. */
import { Agent, request } from "node:http";
import type { Client } from "@grpc/grpc-js";
import { type RunningServer, startServer } from "../../../src/app/index.ts";
import { readConfig } from "../../../src/config/index.ts";
import { createLogger } from "../../../src/log.ts";
import { type Database, type LogEntry, openDatabase } from "../../../src/store/index.ts";
import { type Json, methodNamed } from "../contract.ts";
import type { EmptyDatabase } from "../databases.ts";
import { callOverGrpc, connectGrpc } from "../grpc-client.ts";
import { restRequest } from "../rest-client.ts";

/** The `iss` of the platform's own tokens, and the audience of those for it. */
export const platformUrl = "https://platform.example";

/** An answer of any protocol. */
export interface Answer {
  /** The HTTP status, or the gRPC code. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Json;
}

/** A call as its caller makes it. */
export interface Call {
  readonly verb: string;
  readonly target: string;
  readonly body?: Json;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How many calls that write a caller may make at one time of the clock. */
export const writesAtOnce = 100;

const shownHeaders = ["content-type", "www-authenticate", "retry-after"];

export class Installation {
  readonly running: RunningServer;
  readonly #place: EmptyDatabase;
  readonly #database: Database;
  readonly #grpc: Client;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(running: RunningServer, place: EmptyDatabase, database: Database) {
    this.running = running;
    this.#place = place;
    this.#database = database;
    this.#grpc = connectGrpc(running.listenUrl);
  }

  static async start(place: EmptyDatabase): Promise<Installation> {
    const flags = {
      listen: "127.0.0.1:0",
      adminListen: "off",
      drainDelay: "0",
      database: place.url,
      baseUrl: platformUrl,
      issuer: platformUrl,
      allowLoopbackIssuers: "true",
      rateLimitRead: "off",
      rateLimitList: "off",
      rateLimitWrite: `${writesAtOnce}/${writesAtOnce}`,
      rateLimitExchange: "off",
      rateLimitAddress: "off",
      keepAliveTimeout: "3600s", // a busy machine may pause between two calls
      http2IdleTimeout: "3600s",
    };
    const running = await startServer(readConfig({ flags, env: {}, warn: () => {} }), createLogger("silent"));
    return new Installation(running, place, await openDatabase(place.url));
  }

  /** Makes a call over HTTP. */
  call({ verb, target, body, token, headers = {} }: Call): Promise<Answer> {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const all = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
      ...headers,
    };
    return new Promise((resolve, reject) => {
      const url = `${this.running.listenUrl}${target}`;
      const sent = request(url, { method: verb, agent: this.#agent, headers: all }, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("error", reject);
        response.on("end", () => {
          const answer = Buffer.concat(parts).toString();
          resolve({
            status: response.statusCode!,
            headers: Object.fromEntries(shownHeaders.map((name) => [name, response.headers[name]?.toString()])),
            body: answer === "" ? undefined : JSON.parse(answer),
          });
        });
      });
      sent.on("error", reject);
      sent.end(text);
    });
  }

  /** Calls a method of the contract by its name. */
  async method(
    name: string,
    message: Json,
    token: string,
    { over = "rest", headers = {} }: { over?: "rest" | "grpc"; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Answer> {
    const method = methodNamed(name);
    if (over === "rest") {
      const { verb, target, body } = restRequest(method, message);
      return this.call({ verb, target, body, token, headers });
    }
    const outcome = await callOverGrpc(this.#grpc, method, message, { authorization: `Bearer ${token}`, ...headers });
    return {
      status: outcome.ok ? 0 : outcome.status.code,
      headers: {},
      body: outcome.ok ? outcome.message : outcome.status,
    };
  }

  /** The entries of a log since a time, oldest first. */
  async log(name: "events" | "audit_log", columns: readonly string[], sinceMs: number): Promise<LogEntry[]> {
    const spec = { name, columns: Object.fromEntries(columns.map((column) => [column, "text" as const])) };
    const entries: LogEntry[] = [];
    for (;;) {
      const after = entries.at(-1);
      const scan = { sinceUs: sinceMs * 1000, limit: 500, ...(after && { after }) };
      const page = await this.#database.read.scan(spec, scan);
      entries.push(...page);
      if (page.length < 500) return entries;
    }
  }

  async stop(): Promise<void> {
    this.#grpc.close();
    this.#agent.destroy();
    await this.#database.close();
    await this.running.stop();
    await this.#place.remove();
  }
}
