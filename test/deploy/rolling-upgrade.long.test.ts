/**
 * An upgrade of two servers on PostgreSQL to the next release, back by one release, forward again and finished, under
 * load behind the shipped examples of proxies: no call is lost, none is answered wrongly.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { credentials } from "@grpc/grpc-js";
import { Agent, request } from "undici";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { type PlatformProcess, runPlatform, type Surroundings, startPlatform } from "../cli/platform-process.ts";
import { migratedPostgres } from "../conformance/databases.ts";
import { grpcRepos } from "../conformance/grpc-repos.ts";
import "../databases/postgres.ts";
import { freePort } from "../free-port.ts";
import { selfSigned } from "../http/self-signed.ts";
import { nextRelease } from "../next-release/program.ts";
import { proxies, startProxy, whyNot } from "./shipped-proxies.ts";

const postgres = inject("postgres");
const { cert, key } = selfSigned();
/** Bundled before there is load, as that blocks this process. */
const upgraded: Surroundings = { ...nextRelease };
/** After this a proxy that asks every second has seen that a server is ready. */
const seenMs = 2500;

interface Load {
  readonly counts: { rest: number; grpc: number };
  readonly failures: string[];
  stop(): Promise<void>;
}

/** Creates, reads, changes and lists until it is told to stop, and compares each answer with what it has written. */
function startLoad(baseUrl: string, token: string, root: string): Load {
  const agent = new Agent({ connect: { ca: cert } });
  const counts = { rest: 0, grpc: 0 };
  const failures: string[] = [];
  let isOver = false;
  async function rest(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: object) {
    const { statusCode, ...answer } = await request(`${baseUrl}${path}`, {
      method,
      dispatcher: agent,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (statusCode !== 200) throw new Error(`${method} ${path.slice(0, 30)}: ${statusCode} ${text.slice(0, 300)}`);
    counts.rest++;
    return text === "" ? undefined : JSON.parse(text);
  }
  const require = (isRight: boolean, what: string) => {
    if (!isRight) throw new Error(`wrong: ${what}`);
  };
  async function oneRepo(client: number, n: number): Promise<void> {
    const name = `rest-${client}-${n}`;
    const { uid } = await rest("POST", `/registry/v2/repos/${root}`, { name });
    require((await rest("GET", `/registry/v2/repos/${uid}`)).name === name, "a created repo");
    await rest("PATCH", `/registry/v2/repos/${uid}`, { description: name });
    const { repos } = await rest("GET", `/registry/v2/repos?name=${name}`);
    require(repos.length === 1 && repos[0].uid === uid && repos[0].description === name, "a changed repo in a list");
    if (n % 2 === 0) await rest("DELETE", `/registry/v2/repos/${uid}`);
  }
  const loop = async (work: (n: number) => Promise<unknown>) => {
    for (let n = 0; !isOver; n++) {
      await work(n).catch((error) => failures.push(`${new Date().toISOString()} ${error.message}`));
      await delay(60);
    }
  };
  const grpc = grpcRepos(new URL(baseUrl).host, token, credentials.createSsl(Buffer.from(cert)));
  const loops = [
    ...Array.from({ length: 4 }, (_, client) => loop((n) => oneRepo(client, n))),
    loop(async (n) => {
      const name = `grpc-${n}`;
      require((await grpc.call("CreateRepo", { parent: root, repo: { name } })).name === name, "a repo over gRPC");
      counts.grpc++;
    }),
  ];
  return {
    counts,
    failures,
    async stop() {
      isOver = true;
      await Promise.all(loops);
      await agent.destroy();
      grpc.close();
    },
  };
}

for (const [name, proxy] of Object.entries(proxies)) {
  const missing = whyNot(proxy.program) ?? ("url" in postgres ? undefined : postgres.missing);
  if (missing !== undefined) console.warn(`skipped, an upgrade behind ${name}: ${missing}`);

  describe.skipIf(missing !== undefined)(`behind ${name}`, () => {
    test("servers are upgraded, rolled back and upgraded again", { timeout: 600_000 }, async () => {
      const database = await migratedPostgres((postgres as { url: string }).url);
      onTestFinished(() => database.remove());
      const on = ["--database", database.url];
      const ports = [await freePort(), await freePort()];
      const servers: PlatformProcess[] = [];
      const start = async (i: number, release: Surroundings) => {
        const address = ["--listen", `127.0.0.1:${ports[i]}`, "--base-url", "http://127.0.0.1", "--drain-delay", "5s"];
        servers[i] = await startPlatform([...on, ...address], release);
      };
      const roll = async (release: Surroundings) => {
        for (const i of ports.keys()) {
          expect(await servers[i]!.end("SIGTERM")).toBe(0);
          await start(i, release);
          await delay(seenMs);
        }
      };
      onTestFinished(async () => void (await Promise.all(servers.map((server) => server.end("SIGKILL")))));
      await Promise.all(ports.map((_, i) => start(i, {})));
      const token = (await runPlatform(["token", ...on, "--ttl", "24h"])).stdout.trim();
      const folder = await mkdtemp(join(tmpdir(), "platform-upgrade-"));
      const port = await freePort();
      const hosts = ports.map((own) => `127.0.0.1:${own}`);
      const running = await startProxy(proxy, { folder, port, servers: hosts, cert, key });
      onTestFinished(async () => {
        running.kill("SIGTERM");
        await rm(folder, { recursive: true, force: true });
      });
      const authorization = `Bearer ${token}`;
      const groups = await fetch(`http://${hosts[0]}/iam/v2/groups`, { headers: { authorization } });
      const root = ((await groups.json()) as { groups: { uid: string }[] }).groups[0]!.uid;
      await delay(seenMs);

      const load = startLoad(`https://localhost:${port}`, token, root);
      const phase = async (title: string, work: () => Promise<void>) => {
        const before = { ...load.counts, failed: load.failures.length };
        await work();
        const { rest, grpc } = load.counts;
        const failed = load.failures.length - before.failed;
        console.log(
          `${name}, ${title}: ${rest - before.rest} by REST, ${grpc - before.grpc} by gRPC, ${failed} failed`,
        );
      };
      const migrate = async (...args: string[]) =>
        expect((await runPlatform(["migrate", ...on, ...args], upgraded)).code).toBe(0);
      await phase("first phase of the migrations", () => migrate());
      await phase("upgrade", () => roll(upgraded));
      await phase("rollback", () => roll({}));
      await phase("upgrade again", () => roll(upgraded));
      await phase("second phase", () => migrate("--finish"));
      await load.stop();
      expect(load.failures.slice(0, 20)).toEqual([]);
      expect(Math.min(load.counts.rest, load.counts.grpc)).toBeGreaterThan(0);
      expect((await runPlatform(["serve", ...on, "--listen", "127.0.0.1:0"])).stderr).toContain(
        "newer than this program",
      );
    });
  });
}
