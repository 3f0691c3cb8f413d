/**
 * What others make of our deliveries: the documented receivers in TypeScript and Python, the `cloudevents` and the
 * `standardwebhooks` packages, and `platform events listen`. A delivery is captured as it arrives and handed to each of
 * them as it was; then with something wrong about it.
 */

import { execFileSync, spawn } from "node:child_process";
import { type CloudEvent, HTTP } from "cloudevents";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readInstallation } from "../../src/app/index.ts";
import { createIssuer, generateSigningKey, type Issuer } from "../../src/auth/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { cleanEnvironment, repository } from "../cli/platform-process.ts";
import { type Forgery, type Subscription, signDelivery } from "../cli/signed-deliveries.ts";
import { freePort } from "../free-port.ts";
import { type EventSink, type Received, startSink } from "./event-sink.ts";
import { onEveryServer } from "./live-server.ts";

const python = process.env.TEST_PYTHON ?? "python3";
const pythonLacks = whatPythonLacks();
if (pythonLacks !== undefined) console.warn(`the receiver in Python is not tested: ${pythonLacks}`);

/** A program that receives, as it is started in the checkout, and where its port and what it knows go. */
interface Program {
  readonly command: readonly string[];
  readonly skip?: string | undefined;
}

const programs: Readonly<Record<string, Program>> = {
  "docs/receivers/receiver.ts": { command: [process.execPath, "docs/receivers/receiver.ts"] },
  "docs/receivers/receiver.py": { command: [python, "docs/receivers/receiver.py"], skip: pythonLacks },
  "platform events listen": { command: [process.execPath, "src/main.ts", "events", "listen"] },
};

const forgeries: readonly [string, number, (stranger: Issuer) => Forgery][] = [
  ["nothing", 200, () => ({})],
  ["another body", 403, () => ({ arriving: '{"actor":{"subject":"you"},"body":{}}' })],
  ["a signature by another secret", 403, () => ({ secret: `whsec_${Buffer.alloc(32).toString("base64")}` })],
  ["no signature", 403, () => ({ headers: { "webhook-signature": undefined } })],
  ["a signature of an hour ago", 403, () => ({ age: 3600 })],
  ["a token for another audience", 403, () => ({ audience: "somebody" })],
  ["a token for another group", 403, () => ({ subject: "webhook:0123456789012345678901234567890123456789" })],
  ["a token for another body", 403, () => ({ digest: `sha256:${"0".repeat(64)}` })],
  ["a token that has expired", 403, () => ({ ttlSeconds: -3600 })],
  ["a token by somebody else", 403, (stranger) => ({ by: stranger })],
  ["no token", 401, () => ({ headers: { authorization: undefined } })],
  ["no id", 400, () => ({ headers: { "ce-id": undefined } })],
];

onEveryServer("receivers", { allowLoopbackSinks: "true" }, (server) => {
  let sink: EventSink;
  let subscription: Subscription;
  let genuine: Received;
  /** The platform itself, to sign what it would not. */
  let platform: Issuer;
  let stranger: Issuer;

  beforeAll(async () => {
    sink = await startSink();
    const { call, baseUrl, databaseUrl, group: makeGroup } = server();
    const group = await makeGroup();
    const { body } = await call("POST", `/events/v2/subscriptions/${group}`, { sink: sink.url("/") });
    subscription = { issuer: baseUrl, group, secret: body.signingSecret };
    const repo = await call("POST", `/registry/v2/repos/${group}`, { name: "my-repo", description: "Größe “5”" });
    const isOfRepo = ({ headers }: Received) => headers["ce-subject"] === repo.body.uid;
    await vi.waitUntil(() => sink.received.some(isOfRepo), { timeout: 30_000 });
    genuine = sink.received.find(isOfRepo)!;
    const database = await openDatabase(databaseUrl);
    const { signingKeys } = (await readInstallation(database.read))!;
    await database.close();
    platform = await createIssuer({ issuer: baseUrl, keys: signingKeys, clock: Date.now });
    stranger = await createIssuer({ issuer: baseUrl, keys: [await generateSigningKey(Date.now)], clock: Date.now });
  });
  afterAll(() => sink?.close());

  describe.each(Object.entries(programs))("%s", (_, { command, skip }) => {
    if (skip !== undefined) {
      test.skip(`skipped: ${skip}`, () => {});
      return;
    }
    let address: string;
    let stop: () => void;
    let printed = "";
    beforeAll(async () => {
      const port = await freePort();
      address = `http://127.0.0.1:${port}/`;
      const { issuer, group, secret } = subscription;
      const isCommand = command.includes("listen");
      const known = ["--port", String(port), "--issuer", issuer, "--group", group, "--secret", secret];
      const [program, ...args] = [...command, ...(isCommand ? known : [])] as [string, ...string[]];
      const env = { ...cleanEnvironment(), ISSUER: issuer, GROUP: group, SECRET: secret, PORT: String(port) };
      const child = spawn(program, args, { cwd: repository, env });
      stop = () => child.kill("SIGKILL");
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (chunk) => {
          printed += chunk;
        });
      await vi.waitUntil(() => printed.includes("listening"), { timeout: 30_000 });
    });
    afterAll(() => stop?.());

    const send = async (headers: Readonly<Record<string, unknown>>, body: Buffer) => {
      const sent = Object.entries(headers).filter(
        ([name]) => !/^(connection|content-length|host|transfer-)/.test(name),
      );
      const init = { method: "POST", headers: Object.fromEntries(sent) as Record<string, string> };
      return (await fetch(address, { ...init, body: new Uint8Array(body) })).status;
    };

    test("accepts a delivery as it arrived", async () => {
      expect(await send(genuine.headers, genuine.body)).toBe(200);
      expect(printed).toContain(String(genuine.headers["ce-id"]));
      expect(printed).toContain("my-repo");
    });

    test.each(forgeries)("one with %s wrong: %i", async (_, status, forge) => {
      const { headers, body } = await signDelivery(platform, subscription, forge(stranger));
      expect(await send(headers, body)).toBe(status);
    });
  });

  test("the package cloudevents reads the event", () => {
    const body = genuine.body.toString("utf8");
    const event = HTTP.toEvent({ headers: genuine.headers, body }) as CloudEvent<unknown>;
    expect(event.validate()).toBe(true);
    expect(event).toMatchObject({
      specversion: "1.0",
      id: genuine.headers["ce-id"],
      type: "dev.platform.api.platform.registry.repo.created.v1",
      source: `${server().baseUrl}/registry/v2/repos`,
      subject: genuine.headers["ce-subject"],
      group: subscription.group,
      audience: "customer",
      bodytype: "platform.registry.v2.Repo",
      datacontenttype: "application/json",
      data: { actor: { subject: server().administrator }, body: { name: "my-repo", description: "Größe “5”" } },
    });
  });

  test("the package standardwebhooks accepts the signature, and no other", async () => {
    const webhook = new Webhook(subscription.secret);
    const headersOf = ({ headers }: Pick<Received, "headers">) =>
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const body = genuine.body.toString("utf8");
    expect(webhook.verify(body, headersOf(genuine))).toEqual(JSON.parse(body));
    expect(() => webhook.verify(`${body} `, headersOf(genuine))).toThrow("No matching signature");
    const other = new Webhook(`whsec_${Buffer.alloc(32).toString("base64")}`);
    expect(() => other.verify(body, headersOf(genuine))).toThrow("No matching signature");
    const later = { ...headersOf(genuine), "webhook-timestamp": String(Math.floor(Date.now() / 1000) + 1) };
    expect(() => webhook.verify(body, later)).toThrow("No matching signature");
  });
});

/** Why the receiver in Python cannot run here. */
function whatPythonLacks(): string | undefined {
  try {
    execFileSync(python, ["-c", "import jwt, cryptography"], { stdio: "pipe" });
    return undefined;
  } catch (error) {
    const { code, stderr } = error as { readonly code?: string; readonly stderr?: Buffer };
    const lines = stderr?.toString().trim().split("\n") ?? [];
    return code === "ENOENT" ? `there is no ${python}` : (lines.at(-1) ?? String(error));
  }
}
