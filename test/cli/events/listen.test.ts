/** `platform events listen` as a process: what it prints, and how it answers. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { cleanEnvironment, repository, runPlatform, temporaryFolder } from "../platform-process.ts";
import { programEntry } from "../program.ts";
import {
  type Forgery,
  type PublishedIssuer,
  publishIssuer,
  type Subscription,
  signDelivery,
} from "../signed-deliveries.ts";

let published: PublishedIssuer;
let subscription: Subscription;

beforeAll(async () => {
  published = await publishIssuer();
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  subscription = { issuer: published.issuer.url, group: "0123456789012345678901234567890123456789", secret };
});
afterAll(() => published.close());

interface Listener {
  readonly url: string;
  readonly process: ChildProcess;
  /** Everything printed so far. */
  printed(): string;
  deliver(forgery?: Forgery): Promise<number>;
}

function listen(...args: string[]): Promise<Listener> {
  return listenIn({}, "--issuer", subscription.issuer, ...args);
}

async function listenIn(env: Readonly<Record<string, string>>, ...args: string[]): Promise<Listener> {
  const { group, secret } = subscription;
  const command = [programEntry(), "events", "listen", "--port", "0", "--group", group, "--secret", secret, ...args];
  const child = spawn(process.execPath, command, { cwd: repository, env: { ...cleanEnvironment(), ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    printed += chunk;
  });
  await expect.poll(() => printed).toContain("\n");
  const [, url = ""] = /^listening on (\S+) for events signed by \S+\n/.exec(printed) ?? [];
  return {
    url,
    process: child,
    printed: () => printed,
    async deliver(forgery) {
      const { headers, body } = await signDelivery(published.issuer, subscription, forgery);
      return (await fetch(`${url}/any/path`, { method: "POST", headers, body: new Uint8Array(body) })).status;
    },
  };
}

test("it prints what arrives and whether it verifies, and answers as receivers do", async () => {
  const { deliver, printed, process: child } = await listen("--count", "4");
  const forgeries: Forgery[] = [{}, { arriving: "{}" }, { headers: { authorization: undefined } }, { arriving: "" }];
  const statuses: number[] = [];
  for (const forgery of forgeries) statuses.push(await deliver(forgery));
  expect(statuses).toEqual([200, 403, 401, 400]);
  await expect.poll(() => child.exitCode).toBe(0);
  const [, ...blocks] = printed().split("\n\n");
  expect(blocks[0]!.replace(/^\S+/, "TIME")).toBe(`TIME  dev.platform.api.iam.group.created.v1  200
  id          0b7a3c1e-6f0c-4d1b-9d8a-2f6f8f1f0c11
  source      https://platform.example/iam/v2/groups
  event       verified, CloudEvents 1.0
  token       verified, webhook:${subscription.group}
  signature   verified, Standard Webhooks
  | {
  |   "actor": {
  |     "subject": "me"
  |   },
  |   "body": {
  |     "uid": "1"
  |   }
  | }`);
  expect(blocks[1]).toContain("  token       refused, the digest in the token does not match the body\n");
  expect(blocks[2]).toContain("  token       refused, missing\n");
});

test("the issuer is the server that other commands call, unless a setting says another", async () => {
  const { issuer } = subscription;
  const folder = await temporaryFolder();
  await mkdir(join(folder, "platform/profiles"), { recursive: true });
  const profile = { server: issuer, token: "x" };
  await writeFile(join(folder, "platform/profiles/default.json"), JSON.stringify(profile), { mode: 0o600 });
  const signedIn = { XDG_CONFIG_HOME: folder };
  const nobody = { XDG_CONFIG_HOME: "/nonexistent" };
  for (const [env, args] of [
    [{ ...nobody, PLATFORM_SERVER: `${issuer}/` }, []],
    [{ ...nobody, PLATFORM_SERVER: "http://127.0.0.1:9" }, ["--server", issuer]],
    [{ ...nobody, PLATFORM_SERVER: "http://127.0.0.1:9" }, ["--base-url", issuer]],
    [signedIn, []],
  ] as const) {
    const { deliver } = await listenIn(env, ...args);
    expect(await deliver()).toBe(200);
  }
  const { deliver, printed } = await listenIn({ ...nobody, PLATFORM_SERVER: "http://127.0.0.1:9" });
  expect(await deliver()).toBe(500);
  expect(printed()).toContain("no keys from http://127.0.0.1:9 (--server, --issuer): ");
});

test.each(["SIGINT", "SIGTERM"] as const)("%s ends it", async (signal) => {
  const { process: child } = await listen();
  child.kill(signal);
  await once(child, "exit");
  expect(child.exitCode).toBe(0);
});

test("what is not a delivery is refused", async () => {
  const { url } = await listen();
  expect((await fetch(url)).status).toBe(405);
  const long = await fetch(url, { method: "POST", body: "x".repeat(1024 * 1024 + 1) }).then(
    ({ status }) => status,
    () => 413, // the connection is closed while the rest is still being sent
  );
  expect(long).toBe(413);
});

describe("it says what it cannot use", () => {
  test.each([
    [
      ["--port", "http"],
      "option '--port <PORT>' argument 'http' is invalid. It must be a whole number from 0 to 65535.",
    ],
    [
      ["--port", "70000"],
      "option '--port <PORT>' argument '70000' is invalid. It must be a whole number from 0 to 65535.",
    ],
    [["--count", "0"], "option '--count <N>' argument '0' is invalid. It must be a whole number from 1."],
    [["--secret", "secret"], "--secret must be `whsec_` and base64, as CreateSubscription returned it"],
  ])("%j", async (args, message) => {
    const outcome = await runPlatform(["events", "listen", ...args]);
    expect(outcome).toEqual({ code: 2, stdout: "", stderr: `error: ${message}\n` });
  });
});
