/** Probes at an address of their own, answered by a thread. */
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { StartFailure } from "../../src/app/failure.ts";
import { openProbes } from "../../src/app/probes/open.ts";
import { createProbeServer } from "../../src/app/probes/server.ts";
import { openProbeServer, type ProcessState } from "../../src/app/probes/workers.ts";

const listen = { host: "127.0.0.1", port: 0 };

async function ask(port: number, path: string, method = "GET") {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  const text = await answer.text();
  return { status: answer.status, document: text === "" ? undefined : JSON.parse(text), headers: answer.headers };
}

test("a thread answers with what was last reported, while the event loop is blocked, too", async () => {
  const probes = await openProbes(listen, () => {});
  onTestFinished(() => probes.close());
  expect(await ask(probes.port, "/livez")).toMatchObject({ status: 200, document: { status: "ok" } });
  expect(await ask(probes.port, "/readyz")).toMatchObject({ status: 503, document: { status: "starting" } });
  probes.report(undefined);
  expect(await ask(probes.port, "/readyz?verbose")).toMatchObject({ status: 200, document: { status: "ok" } });
  for (const status of ["stopping", "the database is not available"]) {
    probes.report(status);
    expect(await ask(probes.port, "/readyz")).toMatchObject({ status: 503, document: { status } });
  }
});

test("an address in use is a failure of the start that names the setting", async () => {
  const probes = await openProbes(listen, () => {});
  onTestFinished(() => probes.close());
  const again = openProbes({ host: "127.0.0.1", port: probes.port }, () => {});
  await expect(again).rejects.toThrow(StartFailure);
  await expect(again).rejects.toThrow("--probe-listen: port");
});

test("only GET and HEAD of the two paths are served", async () => {
  const server = createProbeServer({
    failure: () => "the event loop does not respond",
    readiness: () => ({ isReady: true, document: { status: "ok" } }),
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await ask(port, "/livez")).toMatchObject({
    status: 503,
    document: { status: "the event loop does not respond" },
  });
  expect(await ask(port, "/readyz", "HEAD")).toMatchObject({ status: 200, document: undefined });
  const refused = await ask(port, "/readyz", "POST");
  expect(refused.status).toBe(405);
  expect(refused.headers.get("allow")).toBe("GET, HEAD");
  expect((await ask(port, "/")).status).toBe(404);
  expect((await ask(port, "/metrics")).status).toBe(404);
});

test("several processes are ready while one is, and live while one responds", async () => {
  let states: ProcessState[] = [
    { unreadiness: "starting", silentMs: 0 },
    { unreadiness: "starting", silentMs: 1e6 },
  ];
  await using probes = await openProbeServer(
    listen,
    () => states,
    () => {},
  );
  expect(await ask(probes.port, "/readyz")).toMatchObject({
    status: 503,
    document: { status: "starting", workers: ["starting", "starting"] },
  });
  expect((await ask(probes.port, "/livez")).status).toBe(200);
  states = [
    { unreadiness: "starting", silentMs: 1e6 },
    { unreadiness: undefined, silentMs: 1e6 },
  ];
  expect(await ask(probes.port, "/readyz")).toMatchObject({
    status: 200,
    document: { status: "ok", workers: ["starting", "ok"] },
  });
  expect(await ask(probes.port, "/livez")).toMatchObject({ status: 503, document: { status: "no worker responds" } });
});
