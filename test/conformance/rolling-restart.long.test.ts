/**
 * Restarts of two replicas, one after the other, behind a proxy that never tries again, while clients call over REST
 * and gRPC. The configurations are those of docs/operations.md. TEST_RESTARTS: how many.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { cleanEnvironment, runPlatform, temporaryFolder } from "../cli/platform-process.ts";
import { freePort } from "../free-port.ts";
import "../databases/postgres.ts";
import { programEntry } from "../cli/program.ts";
import { type EmptyDatabase, migratedPostgres, migratedSqlite } from "./databases.ts";
import { type GrpcRepos, grpcRepos } from "./grpc-repos.ts";

const restarts = Number(process.env.TEST_RESTARTS ?? 3);
const restClients = 8;
const grpcClients = 4;
/** After this a proxy that asks twice a second has seen that a replica is ready. */
const seenMs = 2_500;

const postgres = inject("postgres") ?? { missing: "the project has no global set-up" };
const createDatabase = (): Promise<EmptyDatabase> =>
  "url" in postgres ? migratedPostgres(postgres.url) : migratedSqlite();

interface Proxy {
  readonly program: string;
  /** How its program is asked for its version. */
  readonly version: string;
  /** Settings of the replicas. */
  readonly settings: readonly string[];
  /** Whether the replicas take over sockets that stay open between one process and the next. */
  readonly passesSockets: boolean;
  start(
    folder: string,
    ports: { readonly rest: number; readonly grpc: number },
    replicas: readonly number[],
  ): Promise<ChildProcess>;
}

const haproxy: Proxy = {
  program: "haproxy",
  version: "-v",
  settings: [],
  passesSockets: false,
  async start(folder, { rest, grpc }, replicas) {
    const servers = (more: (i: number) => string) =>
      replicas.map((port, i) => `  server replica${i} 127.0.0.1:${port} ${more(i)}\n`).join("");
    const text = `
defaults
  mode http
  retries 0
  no option redispatch
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout check 3s
frontend rest
  bind 127.0.0.1:${rest}
  default_backend rest
frontend grpc
  bind 127.0.0.1:${grpc} proto h2
  default_backend grpc
backend rest
  option httpchk GET /readyz
  default-server check inter 500ms fall 1 rise 1
${servers(() => "")}backend grpc
${servers((i) => `proto h2 track rest/replica${i}`)}`;
    await writeFile(join(folder, "haproxy.cfg"), text);
    return spawn("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], { stdio: ["ignore", "ignore", "inherit"] });
  },
};

const nginx: Proxy = {
  program: "nginx",
  version: "-v",
  settings: ["--drain-delay", "3s"],
  passesSockets: true,
  async start(folder, { rest, grpc }, replicas) {
    const upstream = (name: string) => `
  upstream ${name} {
    ${replicas.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(" ")}
    keepalive 32;
    keepalive_requests 1000000;
  }`;
    const text = `
daemon off;
pid ${folder}/nginx.pid;
error_log stderr error;
worker_processes 1;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;${upstream("rest")}${upstream("grpc")}
  server {
    listen 127.0.0.1:${rest};
    location / {
      proxy_pass http://rest;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_next_upstream off;
    }
  }
  server {
    listen 127.0.0.1:${grpc} http2;
    location / {
      grpc_pass grpc://grpc;
      grpc_next_upstream off;
    }
  }
}
`;
    await writeFile(join(folder, "nginx.conf"), text);
    return spawn("nginx", ["-c", join(folder, "nginx.conf"), "-e", "stderr"], {
      stdio: ["ignore", "ignore", "inherit"],
    });
  },
};

/** A port of 127.0.0.1, and the descriptor of a socket that has it, if one is passed on. */
interface Place {
  readonly port: number;
  readonly socket: number | undefined;
}

/** A socket that this process holds and never accepts from, as a service manager does. Node has no public way to. */
function heldSocket(port: number): number {
  // biome-ignore lint/suspicious/noExplicitAny: it has no type
  const { TCP, constants } = (process as any).binding("tcp_wrap");
  const handle = new TCP(constants.SERVER);
  expect(handle.bind("127.0.0.1", port)).toBe(0);
  onTestFinished(() => handle.close());
  return handle.fd;
}

/** A replica, which can be restarted. */
class Replica {
  readonly #args: readonly string[];
  readonly #place: Place;
  #process: ChildProcess | undefined;

  constructor(args: readonly string[], place: Place) {
    this.#args = [...args, "--listen", `127.0.0.1:${place.port}`];
    this.#place = place;
  }

  async start(): Promise<void> {
    const { port, socket } = this.#place;
    const command = [process.execPath, programEntry(), "serve", ...this.#args];
    const env: NodeJS.ProcessEnv = { ...cleanEnvironment(), PLATFORM_DRAIN_DELAY: "auto" };
    this.#process =
      socket === undefined
        ? spawn(command[0]!, command.slice(1), { env, stdio: ["ignore", "ignore", "inherit"] })
        : spawn("sh", ["-c", 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"', "sh", ...command], {
            env,
            stdio: ["ignore", "ignore", "inherit", socket],
          });
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/readyz`, { headers: { connection: "close" } }).then(
        ({ ok }) => ok,
        () => false,
      );
    await expect.poll(isReady, { timeout: 60_000, interval: 200 }).toBe(true);
  }

  /** Returns the exit status. */
  async stop(): Promise<number | null> {
    const ended = once(this.#process!, "exit");
    this.#process!.kill("SIGTERM");
    await ended;
    return this.#process!.exitCode;
  }

  kill(): void {
    this.#process?.kill("SIGKILL");
  }
}

/** Calls until it is told to stop. */
interface Load {
  /** How many calls have ended, and why those failed that did. */
  readonly counts: { rest: number; grpc: number };
  readonly failures: string[];
  stop(): Promise<void>;
}

function startLoad(ports: { readonly rest: number; readonly grpc: number }, token: string, root: string): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: restClients });
  const counts = { rest: 0, grpc: 0 };
  const failures: string[] = [];
  let isOver = false;
  let made = 0;
  const rest = (method: string, path: string, body?: object) =>
    new Promise<void>((resolve, reject) => {
      const sent = request(
        { host: "127.0.0.1", port: ports.rest, agent, method, path, headers: { authorization: `Bearer ${token}` } },
        (answer) => {
          answer.resume().on("error", reject);
          answer.on("end", () => (answer.statusCode === 200 ? resolve() : reject(new Error(`${answer.statusCode}`))));
        },
      );
      sent.on("error", reject).end(body && JSON.stringify(body));
    });
  const loop = async (kind: "rest" | "grpc", call: () => Promise<unknown>) => {
    while (!isOver) {
      await call().catch((error) => failures.push(`${new Date().toISOString()} ${kind}: ${error.message}`));
      counts[kind]++;
      await delay(10);
    }
  };
  const clients: GrpcRepos[] = Array.from({ length: grpcClients }, () =>
    grpcRepos(
      `127.0.0.1:${ports.grpc}`,
      token,
      undefined,
      {},
      {
        "grpc.enable_retries": 0,
        "grpc.use_local_subchannel_pool": 1,
      },
    ),
  );
  const loops = [
    ...Array.from({ length: restClients - 2 }, () => loop("rest", () => rest("GET", `/iam/v2/groups/${root}`))),
    ...Array.from({ length: 2 }, () =>
      loop("rest", () => rest("POST", `/registry/v2/repos/${root}`, { name: `rest-${made++}` })),
    ),
    ...clients.map((client, i) =>
      loop("grpc", () =>
        i === 0
          ? client.call("CreateRepo", { parent: root, repo: { name: `grpc-${made++}` } })
          : client.call("ListRepos", { page_size: 2 }),
      ),
    ),
  ];
  return {
    counts,
    failures,
    async stop() {
      isOver = true;
      await Promise.all(loops);
      agent.destroy();
      for (const client of clients) client.close();
    },
  };
}

describe.each([haproxy, nginx])("rolling restarts behind $program", (proxy) => {
  const missing = spawnSync(proxy.program, [proxy.version]).error?.message;
  if (missing !== undefined) console.warn(`rolling restarts behind ${proxy.program} are not tested: ${missing}`);

  test.skipIf(missing !== undefined)(
    "lose no call",
    async () => {
      const folder = await temporaryFolder();
      const database = await createDatabase();
      onTestFinished(() => database.remove());
      const settings = ["--database", database.url, "--log-level", "warn", ...proxy.settings];
      const places: Place[] = [];
      for (let i = 0; i < 2; i++) {
        const port = await freePort();
        places.push({ port, socket: proxy.passesSockets ? heldSocket(port) : undefined });
      }
      const replicas = places.map((place) => new Replica(settings, place));
      onTestFinished(() => replicas.forEach((replica) => void replica.kill()));
      for (const replica of replicas) await replica.start();
      const { stdout } = await runPlatform(["token", "--database", database.url, "--ttl", "24h"]);
      const token = stdout.trim();
      const groups = await fetch(`http://127.0.0.1:${places[0]!.port}/iam/v2/groups`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const root = ((await groups.json()) as { groups: { uid: string }[] }).groups[0]!.uid;

      const ports = { rest: await freePort(), grpc: await freePort() };
      const process = await proxy.start(
        folder,
        ports,
        places.map(({ port }) => port),
      );
      onTestFinished(() => void process.kill("SIGTERM"));
      const isOpen = () =>
        fetch(`http://127.0.0.1:${ports.rest}/livez`).then(
          ({ ok }) => ok,
          () => false,
        );
      await expect.poll(isOpen, { timeout: 60_000 }).toBe(true);
      await delay(seenMs);

      const load = startLoad(ports, token, root);
      for (let i = 0; i < restarts; i++) {
        const replica = replicas[i % 2]!;
        expect(await replica.stop()).toBe(0);
        await replica.start();
        await delay(seenMs);
      }
      await load.stop();
      if (load.failures.length > 0) console.log(load.failures.slice(0, 20).join("\n"));
      console.log(
        `${restarts} restarts behind ${proxy.program}: ${JSON.stringify(load.counts)}, ${load.failures.length} failed`,
      );
      expect(load.failures.slice(0, 20)).toEqual([]);
      expect(Math.min(load.counts.rest, load.counts.grpc)).toBeGreaterThan(0);
    },
    300_000 + restarts * 60_000,
  );
});
