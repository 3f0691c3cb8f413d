/** `platform record` and `platform replay`: what a server answered is answered again, without its secrets. */
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { startCommand, temporaryFolder } from "../cli/platform-process.ts";
import { runHere } from "../cli/run-here.ts";
import { startWithFolder } from "./server.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;
beforeAll(async () => {
  server = await startWithFolder();
});
afterAll(() => server.stop());

/** Starts a command that listens, for one test. */
async function listening(args: readonly string[]) {
  const command = startCommand(args);
  onTestFinished(async () => {
    await command.end("SIGKILL");
  });
  const [, baseUrl = ""] = await command.wrote(/ at (http:\S+)\n/);
  return { baseUrl, stop: () => command.end("SIGTERM") };
}

/** What a client sees of a call. */
async function call(baseUrl: string, path: string, token: string, method = "GET", body?: object) {
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const { status, headers } = response;
  const content = await response.text();
  return { status, type: headers.get("content-type"), etag: headers.get("etag"), json: content && JSON.parse(content) };
}

test("calls are answered again as they were, in their order", async () => {
  const file = join(await temporaryFolder(), "seed.jsonl");
  const recorder = await listening(["record", "--server", server.server, "-o", file]);
  const calls = async (baseUrl: string, token: string) => {
    const repos = `/registry/v2/repos/${server.root}`;
    const before = await call(baseUrl, "/registry/v2/repos", token);
    const created = await call(baseUrl, repos, token, "POST", { name: "recorded" });
    const after = await call(baseUrl, "/registry/v2/repos", token);
    const refused = await call(baseUrl, repos, token, "POST", { name: "NOT VALID" });
    const deleted = await call(baseUrl, `/registry/v2/repos/${created.json.uid}`, token, "DELETE");
    return [before, created, after, refused, deleted];
  };
  const recorded = await calls(recorder.baseUrl, server.token);
  expect(recorded.map(({ status }) => status)).toEqual([200, 200, 200, 400, 200]);
  expect(await recorder.stop()).toMatchObject({ code: 0, stderr: `recorded 5 answers in ${file}\n` });
  const { baseUrl } = await listening(["replay", file]);
  expect(await calls(baseUrl, "another-token")).toEqual(recorded);
});

test("secrets are not written, and a call with one is found again", async () => {
  const file = join(await temporaryFolder(), "seed.jsonl");
  const { baseUrl, stop } = await listening(["record", "--server", server.server, "-o", file]);
  const groups = "/iam/v2/groupInvites";
  const { json: roles } = await call(baseUrl, "/iam/v2/roles?name=viewer", server.token);
  const invite = { roleUid: roles.roles[0].uid, ttl: "3600s" };
  const { json: made } = await call(baseUrl, `${groups}/${server.root}`, server.token, "POST", invite);
  const { json: subscription } = await call(baseUrl, `/events/v2/subscriptions/${server.root}`, server.token, "POST", {
    sink: "https://receiver.invalid/events",
  });
  await call(baseUrl, `${groups}:accept`, server.token, "POST", { code: made.code });
  await call(baseUrl, `/registry/v2/repos?name=${server.token}`, server.token);
  const exchange = { grant_type: "urn:ietf:params:oauth:grant-type:token-exchange", subject_token: server.token };
  await call(baseUrl, "/sts/exchange", server.token, "POST", exchange);
  await stop();
  const recording = readFileSync(file, "utf8");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  for (const secret of [server.token, made.code, subscription.signingSecret, "/sts/", "Bearer"]) {
    expect(secret).toMatch(/./);
    expect(recording).not.toContain(secret);
  }
  const replayed = (await listening(["replay", file])).baseUrl;
  expect((await call(replayed, `${groups}:accept`, "x", "POST", { code: "other" })).status).not.toBe(501);
});

test("commands are recorded and replayed; what is not JSON is only passed on", async () => {
  const file = join(await temporaryFolder(), "seed.jsonl");
  const { baseUrl, stop } = await listening(["record", "--server", server.server, "-o", file]);
  const list = (PLATFORM_SERVER: string) => server.run(["list", "groups", "-o", "json"], { PLATFORM_SERVER });
  const recorded = await list(baseUrl);
  expect(recorded).toMatchObject({ code: 0, stdout: expect.stringContaining(server.root) });
  const url = `${baseUrl}/platform.iam.v2.GroupsService/ListGroups`;
  const binary = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${server.token}`, "content-type": "application/proto" },
    body: new Uint8Array(),
  });
  expect(Buffer.from(await binary.arrayBuffer()).includes(server.root)).toBe(true);
  expect(await stop()).toMatchObject({ stderr: `recorded 1 answer in ${file}\n` });
  expect(await list((await listening(["replay", file])).baseUrl)).toEqual(recorded);
});

test.for([
  ["//", "to the server, whose path it is"],
  ["http://", "refused"],
  ["HTTP://user@", "refused"],
] as const)("a target that begins with %sHOST is %s", async ([prefix, what]) => {
  const others = createServer((_request, response) => response.end("{}"));
  const asked = vi.fn();
  others.on("request", asked).listen(0, "127.0.0.1");
  await once(others, "listening");
  onTestFinished(() => void others.close());
  const host = `127.0.0.1:${(others.address() as AddressInfo).port}`;
  const file = join(await temporaryFolder(), "seed.jsonl");
  const { baseUrl } = await listening(["record", "--server", server.server, "-o", file]);
  const answer = await raw(baseUrl, `${prefix}${host}/registry/v2/repos`, server.token);
  expect(answer).toMatchObject(what === "refused" ? { status: 421, code: 3 } : { status: 404, code: 5 });
  expect(asked).not.toHaveBeenCalled();
  expect(readFileSync(file, "utf8").includes(host)).toBe(what !== "refused");
});

test("a request in absolute form to the server is recorded as the same request in origin form", async () => {
  const file = join(await temporaryFolder(), "seed.jsonl");
  const recorder = await listening(["record", "--server", server.server, "-o", file]);
  const path = "/registry/v2/repos?page_size=1";
  expect(await raw(recorder.baseUrl, `${server.server}${path}`, server.token)).toMatchObject({ status: 200 });
  await recorder.stop();
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ method: "GET", path, status: 200 });
  const { baseUrl } = await listening(["replay", file]);
  expect(await raw(baseUrl, `http://elsewhere.invalid${path}`, "x")).toMatchObject({ status: 200 });
});

/** GETs a request target as it is written. */
async function raw(baseUrl: string, target: string, token: string): Promise<{ status: number; code?: number }> {
  const request = get(baseUrl, { path: target, headers: { authorization: `Bearer ${token}` } });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { ...JSON.parse(await text(response)), status: response.statusCode };
}

test("a call that was not recorded is 501, with a status that names it", async () => {
  const file = join(await temporaryFolder(), "seed.jsonl");
  writeFileSync(file, '{"method":"GET","path":"/a","status":204,"headers":{}}\n');
  const { baseUrl } = await listening(["replay", file]);
  expect(await call(baseUrl, "/a", "x")).toMatchObject({ status: 204, json: "" });
  for (const [path, method, body] of [
    ["/b", "GET"],
    ["/a", "DELETE"],
    ["/a", "POST", {}],
  ] as const) {
    const { status, json } = await call(baseUrl, path, "x", method, body);
    expect(status).toBe(501);
    expect(json).toEqual({
      code: 12,
      message: `Unimplemented: the recording has no answer to ${method} ${path} with this body`,
      details: [],
    });
  }
});

test("a server that is not reached is UNAVAILABLE", async () => {
  const file = join(await temporaryFolder(), "seed.jsonl");
  const { baseUrl } = await listening(["record", "--server", "http://127.0.0.1:9", "-o", file]);
  expect(await call(baseUrl, "/registry/v2/repos", "x")).toMatchObject({
    status: 503,
    json: { code: 14, message: expect.stringMatching(/^Unavailable: cannot reach http:\S+: \S/) },
  });
  expect(readFileSync(file, "utf8")).toBe("");
});

test.each([
  [["replay", "missing.jsonl"], /cannot read missing\.jsonl/],
  [["replay", import.meta.filename], /recording\.test\.ts:1: this is not a line of a recording/],
  [["replay", "/dev/null", "--listen", "nowhere"], /--listen must be HOST:PORT/],
  [["record", "-o", "/nowhere/seed.jsonl"], /cannot write \/nowhere\/seed\.jsonl/],
])("%j is refused", async (args, message) => {
  const { code, stderr } = await runHere(args);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
});
