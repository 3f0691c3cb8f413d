/** SIGHUP: a running server reads its settings again. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type PlatformProcess, settingsIn, startPlatformForTest, temporaryFolder } from "./platform-process.ts";
import { restClient } from "./rest-client.ts";

interface Line {
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The lines of a server's log. */
function linesOf(server: PlatformProcess): Line[] {
  const complete = server.stderr().split("\n").slice(0, -1);
  return complete.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
}

const reloads = (server: PlatformProcess) => linesOf(server).filter(({ msg }) => /^settings/.test(msg));

/** A server with a configuration file, and what replaces that file. */
async function startWithFile(content: object, flags: readonly string[] = []) {
  const cwd = await temporaryFolder();
  const file = join(cwd, "platform.json");
  const write = (settings: object | string) =>
    writeFileSync(file, typeof settings === "string" ? settings : JSON.stringify(settings));
  write(content);
  const { serve } = settingsIn(cwd);
  const args = [...serve, "--init-token-file", "token", "--config", file, ...flags];
  const server = await startPlatformForTest(args, { cwd, env: { PLATFORM_MAX_CALLS: "500" } });
  await expect.poll(() => server.stdout()).toContain("token");
  const rest = restClient(server.baseUrl, readFileSync(join(cwd, "token"), "utf8").trim());
  return { server, rest, write, file };
}

const originOf = (baseUrl: string, origin: string) =>
  fetch(`${baseUrl}/ping/v2/ping`, { headers: { origin } }).then(({ headers }) =>
    headers.get("access-control-allow-origin"),
  );

describe("SIGHUP", () => {
  test("changes what can change while the server runs, and names what needs a restart", async () => {
    const { server, rest, write } = await startWithFile({ logLevel: "warn", quotas: "groups=50" });
    const root = (await rest.get("/iam/v2/groups")).body.groups[0];
    expect(root.resourceLimits).toMatchObject({ groups: 50 });
    expect(await originOf(server.baseUrl, "https://a.example")).toBeNull();
    write({
      logLevel: "info",
      quotas: "groups=1",
      corsOrigins: "https://a.example",
      rateLimitWrite: "1/1",
      maxCalls: 7, // the variable wins
      maxQueueDelay: "2s",
      v1MaxListItems: 5,
      maxUrlBytes: 4096,
    });
    server.signal("SIGHUP");
    await expect
      .poll(() => reloads(server))
      .toMatchObject([
        {
          level: "info",
          msg: "settings reloaded",
          changed: ["corsOrigins", "v1MaxListItems", "quotas", "rateLimitWrite", "maxQueueDelay", "logLevel"],
        },
        { level: "warn", msg: "settings have changed that need a restart", settings: ["maxUrlBytes"] },
      ]);
    expect(await originOf(server.baseUrl, "https://a.example")).toBe("https://a.example");
    expect((await rest.get(`/iam/v2/groups/${root.uid}`)).body.resourceLimits).toMatchObject({ groups: 1 });
    const refused = [await rest.post(`/iam/v2/groups/${root.uid}`, { name: "a" })];
    refused.push(await rest.post(`/iam/v2/groups/${root.uid}`, { name: "b" }));
    expect(refused.map(({ status }) => status)).toEqual([expect.anything(), 429]);
    await expect.poll(() => linesOf(server).filter(({ msg }) => msg === "call").length).toBeGreaterThan(0);

    write({ logLevel: "warn" });
    server.signal("SIGHUP");
    await expect.poll(() => reloads(server).length).toBe(3);
    expect(await originOf(server.baseUrl, "https://a.example")).toBeNull();
    expect((await rest.post(`/iam/v2/groups/${root.uid}`, { name: "b" })).status).toBe(200);
  });

  test("with a file that is not valid changes nothing, and says why", async () => {
    const { server, write, file } = await startWithFile({ corsOrigins: "https://a.example" });
    for (const content of [
      '{"corsOrigins": ',
      '{"corsOrigins": "", "lisen": 1}',
      '{"corsOrigins": "", "maxUrlBytes": 0}',
    ]) {
      const before = reloads(server).length;
      write(content);
      server.signal("SIGHUP");
      await expect.poll(() => reloads(server).length).toBe(before + 1);
      expect(reloads(server).at(-1)).toMatchObject({
        level: "error",
        msg: "settings not reloaded: nothing has changed",
        reason: expect.stringContaining(file),
      });
      expect(await originOf(server.baseUrl, "https://a.example")).toBe("https://a.example");
    }
    expect(await server.end("SIGTERM")).toBe(0);
  });

  test("to the supervisor reaches all workers", async () => {
    const { server, write } = await startWithFile({ workers: 2 });
    const listening = () => linesOf(server).filter(({ msg }) => msg === "listening").length;
    await expect.poll(listening).toBe(2);
    write({ workers: 3, corsOrigins: "https://a.example" });
    server.signal("SIGHUP");
    await expect.poll(() => reloads(server).length).toBe(2);
    expect(reloads(server)).toMatchObject([{ changed: ["corsOrigins"] }, { settings: ["workers"] }]);
    await expect
      .poll(async () => {
        const origins = Array.from({ length: 20 }, () =>
          fetch(`${server.baseUrl}/ping/v2/ping`, { headers: { origin: "https://a.example", connection: "close" } }),
        );
        return (await Promise.all(origins)).every(({ headers }) => headers.has("access-control-allow-origin"));
      })
      .toBe(true);
  });
});
