/**
 * Keys are rotated and revoked under load, on two replicas: no call fails that should not, no delivery is signed
 * wrongly, and no call of a revoked key is accepted.
 */
import { createHmac, randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { decodeProtectedHeader } from "jose";
import { expect, test } from "vitest";
import { type RunningServer, startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { createLogger } from "../../src/log.ts";
import { runPlatform } from "../cli/platform-process.ts";
import { runHere } from "../cli/run-here.ts";
import { methodNamed } from "./contract.ts";
import { type Received, startSink } from "./event-sink.ts";
import { callOverGrpc, connectGrpc } from "./grpc-client.ts";
import { type Json, onEveryServer, replyOf } from "./live-server.ts";

const [oldKey, newKey] = [randomBytes(32).toString("hex"), randomBytes(32).toString("hex")];
const clients = 6;
const subscriptions = 50;
const attempts = 1000;
const phaseMs = 500;

onEveryServer("keys under load", { allowLoopbackSinks: "true", secretKey: oldKey }, (server) => {
  async function start(secretKey: string): Promise<RunningServer> {
    const { databaseUrl: database, baseUrl: issuer } = server();
    const flags = { listen: "127.0.0.1:0", database, issuer, secretKey, allowLoopbackSinks: "true" };
    return startServer(readConfig({ flags, env: {}, warn: () => {} }), createLogger("silent"));
  }

  async function command(...args: string[]) {
    // A command waits for a lock of SQLite's without letting the servers of this process go on.
    const run = server().isSqlite ? runPlatform : runHere;
    const { code, stdout, stderr } = await run([...args, "--database", server().databaseUrl]);
    expect([code, stderr]).toEqual([0, ""]);
    return stdout.trimEnd().split("\n");
  }

  /** Calls replicas over REST and gRPC until it is stopped, and makes groups with idempotency keys. */
  function startLoad(replicas: () => readonly RunningServer[], token: () => string) {
    const state = { isRunning: true, calls: 0, groups: [] as string[], failures: [] as string[] };
    const underWay = new Map<string, number>();
    const count = (baseUrl: string, change: number) => underWay.set(baseUrl, (underWay.get(baseUrl) ?? 0) + change);
    const headers = () => ({ authorization: `Bearer ${token()}` });
    const { root } = server();
    const keyed = new Map<string, string>();

    async function viaRest(baseUrl: string) {
      const { status } = await replyOf(await fetch(`${baseUrl}/iam/v2/groups/${root}`, { headers: headers() }));
      if (status !== 200) state.failures.push(`REST get ${status}`);
    }
    async function viaGrpc(baseUrl: string) {
      const client = connectGrpc(baseUrl);
      const outcome = await callOverGrpc(client, methodNamed("GetGroup"), { uid: root }, headers());
      client.close();
      if (!outcome.ok) state.failures.push(`gRPC get ${outcome.status.code}`);
    }
    async function create(baseUrl: string, key: string) {
      const response = await fetch(`${baseUrl}/iam/v2/groups/${root}`, {
        method: "POST",
        headers: { ...headers(), "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify({ name: key }),
      });
      const { status, body } = await replyOf(response);
      if (status !== 200) state.failures.push(`REST create ${status} ${JSON.stringify(body)}`);
      else if ((keyed.get(key) ?? body.uid) !== body.uid) state.failures.push("made twice for one key");
      else if (!keyed.has(key)) {
        keyed.set(key, body.uid);
        state.groups.push(body.uid);
      }
    }

    const running = Array.from({ length: clients }, async (_, client) => {
      for (let i = 0; state.isRunning; i++) {
        const all = replicas();
        const { baseUrl } = all[i % all.length]!;
        const earlier = [...keyed.keys()][i % Math.max(keyed.size, 1)] ?? `${client} 0`;
        const work = [
          () => viaRest(baseUrl),
          () => viaGrpc(baseUrl),
          () => create(baseUrl, `${client}-${i}`),
          () => create(baseUrl, earlier.replaceAll(" ", "-")),
        ][i % 4]!;
        count(baseUrl, 1);
        await work().catch((error) => state.failures.push(`client: ${error} ${error.cause ?? ""}`));
        count(baseUrl, -1);
        state.calls++;
        await setTimeout(5);
      }
    });
    return {
      state,
      /** Waits for the calls that a replica has under way. */
      drained: (baseUrl: string) => expect.poll(() => underWay.get(baseUrl) ?? 0).toBe(0),
      async stop() {
        state.isRunning = false;
        await Promise.all(running);
        return state;
      },
    };
  }

  const subscribed = async (url: (path: string) => string) => {
    const secrets = new Map<string, string>();
    const group = await server().group();
    for (let i = 0; i < subscriptions; i++) {
      const parent = i === 0 ? server().root : group;
      const path = `/${i}`;
      const made = await server().call("POST", `/events/v2/subscriptions/${parent}`, { sink: url(path) });
      expect(made.status).toBe(200);
      secrets.set(path, made.body.signingSecret);
    }
    return secrets;
  };

  test("rotate without a failed call or a wrong signature", { timeout: 300_000 }, async () => {
    const sink = await startSink();
    const secrets = await subscribed(sink.url);
    let replicas: readonly RunningServer[] = [await start(oldKey), await start(oldKey)];
    /** Replaces one replica after the other, as behind a balancer: it gets no new calls before it stops. */
    const restart = async (secretKey: string) => {
      for (const old of replicas) {
        const fresh = await start(secretKey);
        replicas = replicas.map((one) => (one === old ? fresh : one));
        await load.drained(old.baseUrl);
        await old.stop();
      }
      await setTimeout(phaseMs);
    };
    await server().running.stop(); // it has the old key only
    const load = startLoad(
      () => replicas,
      () => server().admin,
    );
    await setTimeout(phaseMs);

    await command("keys", "rotate");
    const added: Json[] = (await command("keys", "list", "--json")).map((line) => JSON.parse(line));
    const waiting = added.find(({ state }) => state === "published")!;
    await setTimeout(phaseMs);
    await command("keys", "revoke", waiting.kid);
    await setTimeout(phaseMs);

    await restart(`${oldKey},${newKey}`);
    await restart(`${newKey},${oldKey}`);
    const rotated = await command("secrets", "rotate", "--secret-key", `${newKey},${oldKey}`);
    expect(rotated.at(-1)).toBe("every secret is encrypted with the first key; servers need no other");
    expect(rotated[1]).toBe(`signing secrets of subscriptions: ${subscriptions}, ${subscriptions} encrypted again`);
    await setTimeout(phaseMs);
    await restart(newKey);
    await expect(start(oldKey)).rejects.toThrow(
      "--secret-key: the secrets in the database were encrypted with another",
    );

    const { failures, calls, groups } = await load.stop();
    expect(failures).toEqual([]);
    const events = () =>
      sink.at("/0").filter(({ headers }) => String(headers["ce-type"]).includes("iam.group.created"));
    await expect.poll(() => new Set(events().map(({ headers }) => headers["ce-subject"])).size).toBe(groups.length);
    expect(sink.received.filter((delivery) => !isSigned(delivery, secrets.get(delivery.path)!))).toEqual([]);
    console.info(
      `${calls} calls, 0 failed; ${groups.length} groups; ${sink.received.length} deliveries, all signed well`,
    );
    await Promise.all(replicas.map((one) => one.stop()));
    await sink.close();
  });

  test("are refused everywhere once they are revoked", { timeout: 300_000 }, async () => {
    const replicas = [await start(newKey), await start(newKey)];
    const { admin, administrator } = server();
    let token = admin;
    const load = startLoad(
      () => replicas,
      () => token,
    );
    await setTimeout(phaseMs);
    await load.stop();
    await command("keys", "revoke", decodeProtectedHeader(admin).kid!);
    token = await replicas[1]!.mintToken(administrator, 3600);
    const others = startLoad(
      () => replicas,
      () => token,
    );
    let accepted = 0;
    for (let i = 0; i < attempts; i++) {
      const response = await fetch(`${replicas[i % 2]!.baseUrl}/iam/v2/groups`, {
        headers: { authorization: `Bearer ${admin}` },
      });
      await response.arrayBuffer();
      if (response.status !== 401) accepted++;
    }
    const { calls, failures } = await others.stop();
    expect([accepted, failures, load.state.failures]).toEqual([0, [], []]);
    console.info(
      `${attempts} attempts with a revoked key, 0 accepted; ${load.state.calls + calls} other calls, 0 failed`,
    );
    await Promise.all(replicas.map((one) => one.stop()));
  });
});

/** Whether a delivery has the signature of a secret (Standard Webhooks). */
function isSigned({ headers, body }: Received, secret: string): boolean {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body.toString()}`;
  return headers["webhook-signature"] === `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}
