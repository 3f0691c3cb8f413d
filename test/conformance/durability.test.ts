/** A server that is told to stop finishes what it has begun, and commands run beside one that is busy. */
import { once } from "node:events";
import { connect } from "node:http2";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  type PlatformProcess,
  runPlatform,
  settingsIn,
  startPlatformForTest,
  temporaryFolder,
} from "../cli/platform-process.ts";
import { type Row, restClient } from "../cli/rest-client.ts";
import { runHere } from "../cli/run-here.ts";
import { grpcRepos } from "./grpc-repos.ts";
import { emptyLedger, startWorkload } from "./workload.ts";

describe("a server told to stop", () => {
  test.each(["SIGTERM", "SIGINT"] as const)(
    "%s: it takes no more calls, finishes those in flight, exits with 0",
    async (signal) => {
      const folder = await temporaryFolder();
      const { database, serve } = settingsIn(folder);
      const server = await startPlatformForTest([...serve, "--log-level", "error"]);
      const token = (await runHere(["token", ...database])).stdout.trim();
      const rest = restClient(server.baseUrl, token);
      const grpc = grpcRepos(new URL(server.baseUrl).host, token);
      const root = (await rest.get("/iam/v2/groups")).body.groups[0].uid;
      await grpc.call("ListRepos", {});
      expect((await rest.get("/readyz")).status).toBe(200);

      // Another program's lock holds the calls in flight for as long as the test wants.
      const lock = new DatabaseSync(`${folder}/platform.db`);
      lock.exec("begin immediate");
      const session = connect(server.baseUrl);
      const stream = session.request({
        ":method": "POST",
        ":path": `/registry/v2/repos/${root}`,
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
      });
      stream.end('{"name":"over-http2"}');
      const inFlight = Promise.all([
        rest.post(`/registry/v2/repos/${root}`, { name: "over-http1" }).then(({ status }) => status),
        grpc.call("CreateRepo", { parent: root, repo: { name: "over-grpc" } }).then(({ name }) => name),
        once(stream, "response").then(async ([headers]) => [headers[":status"], JSON.parse(await text(stream)).name]),
      ]);
      inFlight.catch(() => {});
      await setTimeout(200);
      const ended = server.end(signal);
      await expect
        .poll(() =>
          fetch(`${server.baseUrl}/readyz`).then(
            ({ status }) => status,
            () => "refused",
          ),
        )
        .not.toBe(200);
      lock.exec("rollback");
      lock.close();

      expect(await inFlight).toEqual([200, "over-grpc", [200, "over-http2"]]);
      grpc.close();
      session.close();
      expect(await ended).toBe(0);
      const again = await startPlatformForTest([...serve, "--log-level", "error"]);
      const { body } = await restClient(again.baseUrl, token).get("/registry/v2/repos?order_by=name");
      expect(body.repos.map(({ name }: Row) => name)).toEqual(["over-grpc", "over-http1", "over-http2"]);
    },
  );

  test("a second signal, later than those that npm and a terminal repeat, ends it at once", async () => {
    const folder = await temporaryFolder();
    const { database, serve } = settingsIn(folder);
    const server = await startPlatformForTest([...serve, "--log-level", "error"]);
    const rest = restClient(server.baseUrl, (await runHere(["token", ...database])).stdout.trim());
    const root = (await rest.get("/iam/v2/groups")).body.groups[0].uid;
    using lock = new DatabaseSync(`${folder}/platform.db`);
    lock.exec("begin immediate");
    const cut = rest.post(`/registry/v2/repos/${root}`, { name: "cut-off" }).catch((error) => error);
    await setTimeout(200);
    const repeating = setInterval(() => server.signal("SIGTERM"), 300);
    expect(await server.end("SIGTERM")).toBe(130);
    clearInterval(repeating);
    expect(await cut).toBeInstanceOf(TypeError);
  });
});

test("commands run beside a server under load, without an error on either side", { timeout: 60_000 }, async () => {
  const folder = await temporaryFolder();
  const { database, serve } = settingsIn(folder);
  const server: PlatformProcess = await startPlatformForTest([...serve, "--log-level", "warn"]);
  const token = (await runHere(["token", ...database])).stdout.trim();
  const rest = restClient(server.baseUrl, token);
  const root = (await rest.get("/iam/v2/groups")).body.groups[0].uid;
  const viewerRole = (await rest.get("/iam/v2/roles?name=viewer")).body.roles[0].uid;
  const ledger = emptyLedger();
  const workload = startWorkload(rest, { root, viewerRole }, ledger, 8);
  for (let round = 0; round < 3; round++) {
    const outcomes = await Promise.all([
      runPlatform(["token", ...database]),
      runPlatform(["init", "--recover", "--json", ...database]),
      runPlatform(["migrate", ...database]),
    ]);
    expect(outcomes.map(({ code, stderr }) => ({ code, stderr }))).toEqual(Array(3).fill({ code: 0, stderr: "" }));
    const [minted, recovered] = outcomes;
    for (const made of [minted!.stdout.trim(), JSON.parse(recovered!.stdout).token]) {
      expect((await restClient(server.baseUrl, made).get("/iam/v2/groups")).status).toBe(200);
    }
  }
  expect(await workload.stop()).toEqual([]);
  expect(ledger.acknowledged).toBeGreaterThan(100);
  expect(server.stderr()).toBe("");
  console.log(`${ledger.acknowledged} writes beside nine commands`);
});
