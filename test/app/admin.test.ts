/** The admin listener, answered by a thread. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { openAtAdminAddress } from "../../src/app/admin/address.ts";
import { type AdminOptions, openAdmin } from "../../src/app/admin/open.ts";
import { createReadiness } from "../../src/app/admin/readiness.ts";
import { createAdminServer } from "../../src/app/admin/server.ts";
import { openSupervisorAdmin, type ProcessState } from "../../src/app/admin/workers.ts";
import { StartFailure } from "../../src/app/failure.ts";
import { defaultAdminListen, readConfig } from "../../src/config/index.ts";
import { startPlatformForTest } from "../cli/platform-process.ts";

const listen = { host: "127.0.0.1", port: 0 };
const silent = pino({ level: "silent" });

async function open(options: Partial<AdminOptions> = {}) {
  const admin = await openAdmin({ listen, debug: "loopback", hosts: [], log: silent, ...options });
  onTestFinished(() => admin.close());
  return admin;
}

async function ask(port: number, path: string, method = "GET") {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  const text = await answer.text();
  const isJson = answer.headers.get("content-type") === "application/json" && text !== "";
  return { status: answer.status, text, document: isJson ? JSON.parse(text) : undefined, headers: answer.headers };
}

test("readiness is a list of named checks, each of which says why it does not hold", async () => {
  const admin = await open();
  const readiness = createReadiness();
  readiness.set("shutdown", () => undefined);
  readiness.set("database", () => "the database is not available");
  admin.report(readiness.checks());
  await expect
    .poll(() => ask(admin.port, "/readyz"))
    .toMatchObject({
      status: 503,
      document: { status: "the database is not available" },
    });
  expect((await ask(admin.port, "/readyz?verbose")).text).toBe(
    "[+]shutdown ok\n[-]database failed: the database is not available\n[+]event-loop ok\nreadyz check failed\n",
  );
  readiness.set("database", () => undefined);
  admin.report(readiness.checks());
  await expect.poll(() => ask(admin.port, "/readyz")).toMatchObject({ status: 200, document: { status: "ok" } });
  expect((await ask(admin.port, "/readyz?verbose")).text).toBe(
    "[+]shutdown ok\n[+]database ok\n[+]event-loop ok\nreadyz check passed\n",
  );
});

test("an address in use is a failure of the start, unless nobody has chosen it", async () => {
  const { port } = await open();
  const config = readConfig({ flags: { adminListen: `127.0.0.1:${port}` }, env: {}, warn: expect.fail });
  const openAt = (listen: AdminOptions["listen"]) => open({ listen });
  const chosen = openAtAdminAddress(config, silent, openAt);
  await expect(chosen).rejects.toThrow(StartFailure);
  await expect(chosen).rejects.toThrow("--admin-listen: port");

  const lines: object[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
  const byDefault = readConfig({ flags: {}, env: {}, warn: expect.fail });
  const opened = await openAtAdminAddress(byDefault, log, (listen) => {
    expect(listen).toEqual(defaultAdminListen);
    return openAt({ ...listen, port });
  });
  expect(opened).toBeUndefined();
  expect(lines).toMatchObject([{ address: "127.0.0.1:9090", msg: "no admin listener: its default address is in use" }]);
  const off = readConfig({ flags: { adminListen: "off" }, env: {}, warn: expect.fail });
  expect(await openAtAdminAddress(off, silent, openAt)).toBeUndefined();
});

test("only GET and HEAD of known paths are served, and little of what a client sends is read", async () => {
  const { port } = await open({ collect: undefined });
  expect(await ask(port, "/readyz", "HEAD")).toMatchObject({ status: 200, text: "" });
  const refused = await ask(port, "/readyz", "POST");
  expect(refused.status).toBe(405);
  expect(refused.headers.get("allow")).toBe("GET, HEAD");
  expect((await ask(port, "/")).status).toBe(404);
  expect((await ask(port, "//")).status).toBe(404);
  expect(await ask(port, "/metrics")).toMatchObject({
    status: 404,
    document: { status: "metrics are off (--metrics)" },
  });
  const long = request({ host: "127.0.0.1", port, path: "/livez", headers: { x: "y".repeat(5000) } }).end();
  const [answer] = await once(long, "response");
  expect(answer.resume().statusCode).toBe(431);
});

test("heap snapshots and CPU profiles are for loopback clients of a loopback address", async () => {
  const { port } = await open();
  const named = request({ host: "127.0.0.1", port, path: "/debug/heap", headers: { host: "evil.example.com" } }).end();
  const [answer] = await once(named, "response");
  expect(answer.resume().statusCode).toBe(403); // a name that a page in a browser had resolve to this machine
  expect((await ask(port, "/debug/profile?seconds=61")).status).toBe(400);
  expect((await ask(port, "/debug/profile?seconds=0")).status).toBe(400);
  expect((await ask(port, "/debug/profile?seconds=x")).status).toBe(400);

  const everywhere = await open({ listen: { host: "0.0.0.0", port: 0 } });
  expect(await ask(everywhere.port, "/debug/heap")).toMatchObject({
    status: 403,
    document: { status: expect.stringContaining("unless --admin-debug=on") },
  });
  const off = await open({ debug: "off" });
  expect((await ask(off.port, "/debug/profile")).document.status).toContain("off (--admin-debug)");
  const on = await open({ listen: { host: "0.0.0.0", port: 0 }, debug: "on" });
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === "IPv4")?.address;
  if (outside === undefined) console.warn("not tested from another address: this machine has none");
  else expect((await fetch(`http://${outside}:${on.port}/debug/profile?seconds=0`)).status).toBe(400); // not refused
});

/** A server whose event loop a call of the test blocks for good. */
async function blocked() {
  const script = `
    import { openAdmin } from ${JSON.stringify(new URL("../../src/app/admin/open.ts", import.meta.url).href)};
    import { pino } from "pino";
    const text = JSON.stringify(Array.from({ length: 1000 }, String));
    const admin = await openAdmin({
      listen: { host: "127.0.0.1", port: 0 },
      debug: "loopback",
      hosts: [],
      log: pino({ level: "silent" }),
      collect: async () => [{ name: "a.b", kind: "counter", description: "A.", series: [{ labels: {}, value: 7 }] }],
    });
    admin.report([{ name: "database", failure: undefined }]);
    process.send(admin.port);
    process.on("message", () => {
      process.send("blocked", function turnsForever() { for (;;) JSON.parse(text); });
    });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [port] = (await once(child, "message")) as [number];
  return {
    port,
    async block() {
      child.send("block");
      await once(child, "message");
    },
  };
}

test("while the event loop is blocked, everything is answered, and shows it", async () => {
  const { port, block } = await blocked();
  const before = await ask(port, "/metrics");
  expect(before.text).toMatch(/^a_b_total 7$/m);
  expect(before.text).toMatch(/^platform_metrics_age_seconds 0$/m);
  await block();
  const profile = await ask(port, "/debug/profile?seconds=1");
  expect(profile.document.samples.length).toBeGreaterThan(10);
  expect(profile.document.nodes[0].callFrame.functionName).toBe("(root)");
  expect(await ask(port, "/livez")).toMatchObject({ status: 200, document: { status: "ok" } });
  expect((await ask(port, "/readyz?verbose")).text).toMatch(/^\[\+\]database ok$/m);
  const [scrape, again] = await Promise.all([ask(port, "/metrics"), ask(port, "/metrics")]);
  expect(scrape.text).toMatch(/^a_b_total 7$/m);
  expect(Number(/^platform_metrics_age_seconds (.*)$/m.exec(scrape.text)?.[1])).toBeGreaterThan(2);
  expect(Number(/^platform_event_loop_silence_seconds (.*)$/m.exec(scrape.text)?.[1])).toBeGreaterThan(2);
  expect(again.status).toBe(200);
  expect(await ask(port, "/debug/heap")).toMatchObject({
    status: 503,
    document: { status: "the event loop does not move, and V8 waits for that; take a CPU profile" },
  });
});

test("a heap snapshot is taken, one at a time", async () => {
  const files: unknown[] = [];
  const log = pino({}, { write: (line) => void files.push(JSON.parse(line).file) });
  const { port } = await open({ log });
  const [heap, second] = await Promise.all([ask(port, "/debug/heap"), ask(port, "/debug/heap")]);
  const [taken, refused] = heap.status === 200 ? [heap, second] : [second, heap];
  expect(taken.document.snapshot.node_count).toBeGreaterThan(1000);
  expect(refused).toMatchObject({ status: 409, document: { status: "a heap snapshot is under way" } });
  await expect.poll(() => files).toEqual(["heap snapshot"]);
});

test("an event loop that does not move is unready after 10 s, and to be restarted after 60 s", async () => {
  let silentMs = 0;
  const states: () => ProcessState[] = () => [{ checks: [], silentMs, debugPort: undefined }];
  const config = readConfig({ flags: { adminListen: "127.0.0.1:0" }, env: {}, warn: expect.fail });
  await using admin = await openSupervisorAdmin({ config, log: silent, states, onProbe() {} });
  const { port } = admin!;
  expect((await ask(port, "/readyz")).status).toBe(200);
  silentMs = 11_000;
  expect((await ask(port, "/readyz?verbose")).text).toContain("[-]worker-0/event-loop failed: silent for 11 s");
  expect((await ask(port, "/livez")).status).toBe(200);
  silentMs = 61_000;
  expect(await ask(port, "/livez")).toMatchObject({ status: 503, document: { status: "no worker responds" } });
});

test("several processes are ready while one is, and their files are those of their threads", async () => {
  const starting = [{ name: "startup", failure: "starting" }];
  let states: ProcessState[] = [
    { checks: starting, silentMs: 0, debugPort: undefined },
    { checks: starting, silentMs: 0, debugPort: undefined },
  ];
  const config = readConfig({ flags: { adminListen: "127.0.0.1:0" }, env: {}, warn: expect.fail });
  await using admin = await openSupervisorAdmin({ config, log: silent, states: () => states, onProbe() {} });
  const { port } = admin!;
  expect(await ask(port, "/readyz")).toMatchObject({
    status: 503,
    document: { status: "starting", workers: ["starting", "starting"] },
  });
  const other = createServer((request, response) => response.end(request.url)).listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  states = [states[0]!, { checks: [], silentMs: 0, debugPort: (other.address() as AddressInfo).port }];
  expect(await ask(port, "/readyz")).toMatchObject({
    status: 200,
    document: { status: "ok", workers: ["starting", "ok"] },
  });
  expect((await ask(port, "/readyz?verbose")).text).toContain("readyz check passed");
  expect(await ask(port, "/debug/heap")).toMatchObject({
    status: 400,
    document: { status: "add worker=N, the number of a worker that runs: 1" },
  });
  expect((await ask(port, "/debug/heap?worker=0")).status).toBe(400);
  expect((await ask(port, "/debug/profile?worker=1&seconds=2")).text).toBe("/debug/profile?worker=1&seconds=2");
});

/** The status of a request with these fields. */
async function statusWith(port: number, path: string, headers: Record<string, string>): Promise<number> {
  const [answer] = await once(request({ host: "127.0.0.1", port, path, headers }).end(), "response");
  answer.resume();
  return answer.statusCode;
}

const known = ["127.0.0.1", "[::1]", "[::1]:9090", "10.1.2.3:9090", "localhost:9090", "platform:9090", hostname()];
const unknown = [
  "evil.example.com",
  "evil.example.com:9090",
  "127.0.0.1.nip.io",
  "localhost.example",
  "METRICS.example.org.",
];

test("metrics and files are for known hosts alone: addresses, names without a dot, and those of the settings", async () => {
  const { port } = await open({ debug: "on", collect: async () => [], hosts: ["metrics.example.com"] });
  for (const path of ["/metrics", "/debug/profile?seconds=0"]) {
    const expected = path === "/metrics" ? 200 : 400;
    for (const host of [...known, "metrics.example.com", "Metrics.Example.com:9090"])
      expect(await statusWith(port, path, { host }), `${path} ${host}`).toBe(expected);
    for (const host of unknown) expect(await statusWith(port, path, { host }), `${path} ${host}`).toBe(403);
  }
  for (const path of ["/livez", "/readyz"]) expect(await statusWith(port, path, { host: unknown[0]! })).toBe(200);
});

test("files are not for pages of other origins", async () => {
  const { port } = await open({ debug: "on" });
  const own = `http://127.0.0.1:${port}`;
  const refused: Record<string, string>[] = [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "http://evil.example.com" },
    { origin: "http://127.0.0.1:1" },
    { origin: "null" },
    { origin: own, "sec-fetch-site": "cross-site" },
  ];
  for (const path of ["/debug/heap", "/debug/profile"])
    for (const headers of refused) expect(await statusWith(port, path, headers), JSON.stringify(headers)).toBe(403);
  const admitted: Record<string, string>[] = [
    {},
    { "sec-fetch-site": "none" },
    { origin: own, "sec-fetch-site": "same-origin" },
  ];
  for (const headers of admitted) expect(await statusWith(port, "/debug/profile?seconds=0", headers)).toBe(400);
});

test("every answer forbids browsers to guess its type", async () => {
  const { port } = await open({ collect: async () => [] });
  for (const path of ["/livez", "/readyz", "/readyz?verbose", "/metrics", "/nothing", "/debug/profile?seconds=0"])
    expect((await ask(port, path)).headers.get("x-content-type-options"), path).toBe("nosniff");
  const socket = connect(port, "127.0.0.1");
  socket.write("nonsense\r\n\r\n");
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [\s\S]*x-content-type-options: nosniff\r\n/);
});

test("an answer of the source that fails is an error of that request only", async () => {
  const server = createAdminServer({
    failure: () => undefined,
    readiness: () => ({ isReady: true, document: {}, checks: [] }),
    metrics: () => Promise.reject(new Error("broken")),
    debug: { access: "on", heap: async () => {}, profile: async () => {} },
    hosts: [],
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await ask(port, "/metrics")).toMatchObject({ status: 500, document: { status: "broken" } });
  expect((await ask(port, "/livez")).status).toBe(200);
});

test("the program answers there, with its metrics", async () => {
  const server = await startPlatformForTest([
    ...["--database", "sqlite::memory:", "--listen", "127.0.0.1:0"],
    ...["--admin-listen", "127.0.0.1:0"],
  ]);
  await expect.poll(() => server.stderr()).toMatch(/"adminPort":\d+/);
  const port = Number(/"adminPort":(\d+)/.exec(server.stderr())?.[1]);
  expect((await ask(port, "/readyz?verbose")).text).toBe(
    "[+]shutdown ok\n[+]startup ok\n[+]database ok\n[+]schema ok\n[+]event-loop ok\nreadyz check passed\n",
  );
  expect((await ask(port, "/metrics")).text).toContain("platform_build_info");
});
