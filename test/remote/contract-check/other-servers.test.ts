/** A check of what is not a server of the contract, or only over some protocols. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { runPlatform } from "../../cli/platform-process.ts";
import { startGate } from "../gate.ts";
import { startWithFolder } from "../server.ts";
import { startForeign } from "../stub-server.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;
beforeAll(async () => {
  server = await startWithFolder();
});
afterAll(() => server.stop());

const check = (url: string) =>
  runPlatform(["contract", "check", "--timeout", "5"], { env: { ...server.env, PLATFORM_SERVER: url } });

test.each([
  [501, "text/html", "<!DOCTYPE html>", "no readable answer over rest: HTTP 501 with text/html"],
  [200, "text/html", "<!DOCTYPE html>", "unsupported content type text/html"],
  [404, "application/json", '{"detail":"Not Found"}', "no readable answer over rest: HTTP 404 with application/json"],
  [401, "application/json", "null", "no readable answer over rest: HTTP 401 with application/json"],
])("HTTP %s, %s, %s is told in a line", async (status, type, text, what) => {
  const { url, stop } = await startForeign(status, type, text);
  onTestFinished(stop);
  const { code, stdout, stderr } = await check(url);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(`error: cannot begin: ListGroups: ${what}`);
  expect(stderr.trim().split("\n")).toHaveLength(1);
});

test("what answers every call with the same JSON differs from the contract", { timeout: 180_000 }, async () => {
  const { url, stop } = await startForeign(200, "application/json", '{"groups":1}');
  onTestFinished(stop);
  const { code, stdout } = await check(url);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^serves, of \d+ methods, .*; missing: .*ListGroups/);
  expect(stdout).toContain("authentication/missing-token  GetDocument\n");
});

test("whatever is answered in JSON without groups says nothing about where to work", async () => {
  const { url, stop } = await startForeign(200, "application/json", '{"a":1}');
  onTestFinished(stop);
  const { code, stderr } = await check(url);
  expect({ code, stderr }).toEqual({ code: 1, stderr: "error: the token sees no root group; give one by --group\n" });
});

test("a proxy that speaks HTTP/1.1 alone differs over gRPC once", { timeout: 180_000 }, async () => {
  const { baseUrl } = await startGate(server.server, "", Number.POSITIVE_INFINITY);
  const { code, stdout, stderr } = await check(baseUrl);
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  expect(stdout).toMatch(/^serves, of (\d+) methods, \1 over REST, \1 over Connect\nprotocols\/served {2}gRPC\n/);
  expect(stdout).toMatch(/\d+ checks, 1 difference, 2 skipped\n$/);
});
