/** A start that fails half-way, when the database is open and work in the background has begun. */
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { StartFailure, startServer } from "../../src/app/index.ts";
import { noPeers } from "../../src/app/peers.ts";
import { readConfig } from "../../src/config/index.ts";

const occupier = createServer();
let folder: string;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  occupier.listen(0, "127.0.0.1");
  await once(occupier, "listening");
  folder = await mkdtemp(join(tmpdir(), "platform-failed-start-"));
});
afterEach(async () => {
  vi.restoreAllMocks(); // before the timers are: a spy restores what it was put upon
  vi.useRealTimers();
  await new Promise((resolve) => occupier.close(resolve));
  await rm(folder, { recursive: true });
});

function start(flags: Readonly<Record<string, string>>, peers = noPeers()) {
  const all = {
    database: `sqlite:${join(folder, "platform.db")}`,
    listen: "127.0.0.1:0",
    adminListen: "off",
    ...flags,
  };
  return startServer(
    readConfig({ flags: all, env: {}, warn: expect.fail }),
    pino({ level: "silent" }),
    undefined,
    peers,
  );
}

/** The listening sockets and connections of this process. */
const sockets = () => process.getActiveResourcesInfo().filter((kind) => kind.startsWith("TCP")).length;

test("leaves no timer, no handle, and the database closed", async () => {
  const { port } = occupier.address() as { port: number };
  const before = sockets();
  const begun = vi.spyOn(globalThis, "setInterval");
  const opensPortLast = { ...noPeers(), sharesPort: true };
  await expect(start({ listen: `127.0.0.1:${port}` }, opensPortLast)).rejects.toThrow(StartFailure);
  expect(begun).toHaveBeenCalledWith(expect.any(Function), 60_000); // housekeeping
  expect(vi.getTimerCount()).toBe(0);
  await expect.poll(sockets).toBe(before);
  expect(await readdir(folder)).toEqual(["platform.db"]); // a file that is open has its log beside it
});

test("a server that stops leaves as little", async () => {
  const before = sockets();
  const server = await start({});
  expect(vi.getTimerCount()).toBeGreaterThan(0);
  await server.stop();
  expect(vi.getTimerCount()).toBe(0);
  await expect.poll(sockets).toBe(before);
  expect(await readdir(folder)).toEqual(["platform.db"]);
});
