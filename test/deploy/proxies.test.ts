/**
 * The examples of deploy/nginx and deploy/haproxy, with other ports and files: every protocol through the proxy, on one
 * host name. Envoy is not in Debian; of its example only the form is checked.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { credentials } from "@grpc/grpc-js";
import { load } from "js-yaml";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { type PlatformProcess, repository, startPlatform } from "../cli/platform-process.ts";
import { grpcRepos } from "../conformance/grpc-repos.ts";
import { freePort } from "../free-port.ts";
import { selfSigned } from "../http/self-signed.ts";
import { proxies, startProxy, whyNot } from "./shipped-proxies.ts";

const { cert, key } = selfSigned();

let home: string;
let server: PlatformProcess;
let token: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "platform-proxies-"));
  const tokenFile = join(home, "token");
  const database = `sqlite:${join(home, "platform.db")}`;
  server = await startPlatform([
    ...["--database", database, "--listen", "0", "--init-token-file", tokenFile],
    ...["--trusted-proxies", "127.0.0.1", "--rate-limit-address", "1/200"],
  ]);
  token = (await readFile(tokenFile, "utf8")).trim();
});
afterAll(async () => {
  await server?.end("SIGTERM");
  await rm(home, { recursive: true, force: true });
});

for (const [name, proxy] of Object.entries(proxies)) {
  const missing = whyNot(proxy.program);
  if (missing !== undefined) console.warn(`skipped, ${name} does not run: ${missing}`);

  describe.skipIf(missing !== undefined)(`behind ${name}`, () => {
    let running: ChildProcess;
    let agent: Agent;
    let baseUrl: string;
    let root: string;
    let errors = "";

    beforeAll(async () => {
      const folder = await mkdtemp(join(home, "proxy-"));
      const port = await freePort();
      baseUrl = `https://localhost:${port}`;
      running = await startProxy(proxy, { folder, port, servers: [new URL(server.baseUrl).host], cert, key });
      for (const stream of [running.stdout!, running.stderr!]) stream.on("data", (text) => (errors += text));
      agent = new Agent({ connect: { ca: cert } });
      await vi.waitFor(
        async () => {
          const { status } = await rest("GET", "/readyz").catch((error) => ({ status: error }));
          if (status !== 200) throw new Error(`${status}\n${errors}`);
        },
        { timeout: 30_000 },
      );
      root = (await rest("GET", "/iam/v2/groups?uidp.in_root=true")).body.groups[0].uid;
    });
    afterAll(async () => {
      await agent?.destroy();
      if (running?.exitCode === null && running.kill("SIGTERM")) await once(running, "exit");
    });

    async function rest(method: "GET" | "POST", path: string, body?: object) {
      const { statusCode, headers, ...answer } = await request(`${baseUrl}${path}`, {
        method,
        dispatcher: agent,
        headers: { authorization: `Bearer ${token}` },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await answer.body.text();
      // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect, and fail when it is not there.
      const json: any = /json/.test(String(headers["content-type"])) ? JSON.parse(text) : text;
      return { status: statusCode, headers, body: json };
    }

    test("REST: calls, uids with a slash, errors with their details", async () => {
      const created = await rest("POST", `/registry/v2/repos/${root}`, { name: `${proxy.program}-rest` });
      expect(created).toMatchObject({ status: 200, body: { name: `${proxy.program}-rest` } });
      for (const uid of [created.body.uid, encodeURIComponent(created.body.uid)])
        expect(await rest("GET", `/registry/v2/repos/${uid}`), uid).toMatchObject({ status: 200 });
      const again = await rest("POST", `/registry/v2/repos/${root}`, { name: `${proxy.program}-rest` });
      expect(again).toMatchObject({ status: 409, body: { code: 6 } });
      expect(again.body.details.length).toBeGreaterThan(0);
      expect((await rest("GET", "/nothing/here")).body).toMatchObject({ code: 5 });
    });

    test("limits of addresses hold for clients, whatever they say of themselves", async () => {
      const statusOf = async (client: Agent, i: number) => {
        const headers = { "x-forwarded-for": `192.0.2.${i}`, forwarded: `for=192.0.2.${i}` };
        const { statusCode, body } = await request(`${baseUrl}/ping/v2/ping`, { dispatcher: client, headers });
        await body.dump();
        return statusCode;
      };
      const [one, other] = ["127.0.0.2", "127.0.0.3"].map(
        (localAddress) => new Agent({ localAddress, connect: { ca: cert } }),
      ) as [Agent, Agent];
      const statuses: number[] = [];
      while (!statuses.includes(429) && statuses.length < 2000) {
        const batch = Array.from({ length: 50 }, (_, i) => statusOf(one, (statuses.length + i) % 250));
        statuses.push(...(await Promise.all(batch)));
      }
      expect(statuses).toContain(429);
      expect(await statusOf(other, 1)).toBe(200);
      await Promise.all([one.destroy(), other.destroy()]);
    });

    test("a body above the server's limit is refused by the server", async () => {
      const answer = await rest("POST", `/registry/v2/repos/${root}`, {
        name: "n",
        description: "x".repeat(1_200_000),
      });
      expect(answer).toMatchObject({ status: 413, body: { code: 8 } });
    });

    const nodeOptions = { ca: cert };
    const transports: Readonly<Record<string, () => Transport>> = {
      gRPC: () => createGrpcTransport({ baseUrl, nodeOptions }),
      "gRPC-Web over HTTP/1.1": () => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", nodeOptions }),
      "gRPC-Web over HTTP/2": () => createGrpcWebTransport({ baseUrl, httpVersion: "2", nodeOptions }),
      "Connect over HTTP/1.1": () => createConnectTransport({ baseUrl, httpVersion: "1.1", nodeOptions }),
      "Connect over HTTP/2": () => createConnectTransport({ baseUrl, httpVersion: "2", nodeOptions }),
    };
    test.each(Object.entries(transports))("%s: a call, an error with its details, a stream", async (_, transportOf) => {
      const transport = transportOf();
      const headers = { authorization: `Bearer ${token}` };
      const repos = createClient(ReposService, transport);
      expect((await repos.listRepos({}, { headers })).repos.length).toBeGreaterThanOrEqual(0);
      const error = ConnectError.from(
        await repos.getRepo({ uid: `${root}/0000000000000000` }, { headers }).catch((e) => e),
      );
      expect(error.code).toBe(Code.NotFound);
      expect(error.details.length).toBeGreaterThan(0);
      for await (const { status } of createClient(Health, transport).watch({})) {
        expect(status).toBe(1); // SERVING, before the stream ends
        break;
      }
    });

    test("gRPC: reflection, a stream in both directions", async () => {
      const client = createClient(ServerReflection, createGrpcTransport({ baseUrl, nodeOptions }));
      const question = { messageRequest: { case: "listServices" as const, value: "" } };
      const answers: string[] = [];
      let next = Promise.withResolvers<void>();
      const questions = (async function* () {
        yield question;
        await next.promise; // the second question comes after the first answer
        yield question;
      })();
      for await (const { messageResponse } of client.serverReflectionInfo(questions)) {
        answers.push(messageResponse.case ?? "");
        next.resolve();
        next = Promise.withResolvers();
      }
      expect(answers).toEqual(["listServicesResponse", "listServicesResponse"]);
    });

    test("gRPC by another client", async () => {
      const client = grpcRepos(new URL(baseUrl).host, token, credentials.createSsl(Buffer.from(cert)));
      const repo = await client.call("CreateRepo", { parent: root, repo: { name: `${proxy.program}-grpc` } });
      expect(repo).toMatchObject({ name: `${proxy.program}-grpc` });
      client.close();
    });
  });
}

/** The example that passes TLS through. */
const passthrough = "deploy/haproxy/passthrough.cfg";
const missing = whyNot("haproxy");

test.skipIf(missing !== undefined)("behind HAProxy that passes TLS through, clients have their addresses", async () => {
  const folder = await mkdtemp(join(home, "proxy-"));
  await writeFile(join(folder, "server.crt"), cert);
  await writeFile(join(folder, "server.key"), key);
  const behind = await startPlatform([
    ...["--database", "sqlite::memory:", "--listen", "0", "--rate-limit-address", "1/50"],
    ...["--tls-cert", join(folder, "server.crt"), "--tls-key", join(folder, "server.key")],
    ...["--trusted-proxies", "127.0.0.1", "--proxy-protocol", "on"],
  ]);
  const port = await freePort();
  const example = await readFile(join(repository, passthrough), "utf8");
  const { host } = new URL(behind.baseUrl);
  const file = join(folder, "haproxy.cfg");
  await writeFile(file, example.replace("bind :443", `bind 127.0.0.1:${port}`).replace("127.0.0.1:8443", host));
  const proxy = spawn("haproxy", ["-db", "-f", file], { stdio: "ignore" });
  const agents = ["127.0.0.2", "127.0.0.3"].map((localAddress) => new Agent({ localAddress, connect: { ca: cert } }));
  const statusOf = async (dispatcher: Agent) => {
    const { statusCode, body } = await request(`https://localhost:${port}/ping/v2/ping`, { dispatcher });
    await body.dump();
    return statusCode;
  };
  try {
    await vi.waitFor(async () => expect(await statusOf(agents[1]!)).toBe(200), { timeout: 30_000 });
    const statuses = await Promise.all(Array.from({ length: 200 }, () => statusOf(agents[0]!)));
    expect(statuses).toContain(429);
    expect(await statusOf(agents[1]!)).toBe(200);
  } finally {
    await Promise.all(agents.map((agent) => agent.destroy()));
    if (proxy.kill("SIGTERM")) await once(proxy, "exit");
    await behind.end("SIGTERM");
  }
});

test("the example of Envoy sends all protocols to one cluster over HTTP/2", async () => {
  const example = await readFile(join(repository, "deploy/envoy/envoy.yaml"), "utf8");
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect, and fail when it is not there.
  const { static_resources: resources } = load(example) as any;
  const [{ filter_chains: chains }] = resources.listeners;
  const manager = chains[0].filters[0].typed_config;
  expect(manager.route_config.virtual_hosts[0].routes).toMatchObject([
    { route: { cluster: "platform", timeout: "0s" } },
  ]);
  expect(resources.clusters).toMatchObject([
    { name: "platform", health_checks: [{ http_health_check: { path: "/readyz" } }] },
  ]);
});
