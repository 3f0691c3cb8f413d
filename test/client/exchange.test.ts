/** Tokens that are exchanged, against real servers with clocks and limits of their own. */
import { Code } from "@connectrpc/connect";
import { afterEach, expect, test, vi } from "vitest";
import {
  createPlatformClient,
  exchangedToken,
  exchangeToken,
  type PlatformError,
  refreshToken,
} from "../../src/client/package.ts";
import { type StandInOptions, startPlatform } from "../../src/testing/index.ts";
import { serve } from "./serve.ts";

afterEach(() => vi.restoreAllMocks());

/** The last parts of the paths that `fetch` is called with from now on. */
function watchFetch(): string[] {
  const called: string[] = [];
  const original = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    called.push(String(input).split("/").at(-1)!);
    return original(input, init);
  });
  return called;
}

const exchanging = ({ baseUrl, token }: { baseUrl: string; token: string }) =>
  createPlatformClient({ server: baseUrl, token: exchangedToken({ server: baseUrl, subject: token }) });

test.each<[string, StandInOptions, number]>([
  ["stands still in the past", { clock: "2020-01-01T00:00:00Z" }, 0],
  ["is two hours behind that of the client", {}, 2 * 3_600_000],
  ["is two hours ahead of that of the client", {}, -2 * 3_600_000],
])("a token is exchanged once where the clock of the server %s", async (_, options, aheadMs) => {
  await using platform = await startPlatform(options);
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + aheadMs);
  const client = exchanging(platform);
  const called = watchFetch();
  for (let count = 0; count < 3; count++) await client.repos.list().page();
  vi.spyOn(Date, "now").mockImplementation(() => now() + aheadMs + 2 * 3_600_000); // set while the client runs
  await client.repos.list().page();
  expect(called).toEqual(["exchange", "ListRepos", "ListRepos", "ListRepos", "ListRepos"]);
});

test("an exchange that is refused for its rate is repeated when the server says", async () => {
  await using platform = await startPlatform({ args: ["--rate-limit-exchange", "1/1"] });
  const called = watchFetch();
  for (let count = 0; count < 2; count++) await exchanging(platform).ping.ping({});
  expect(called).toEqual(["exchange", "Ping", "exchange", "exchange", "Ping"]);
  const error: PlatformError = await exchangeToken({ server: platform.baseUrl }, platform.token).then(
    () => expect.unreachable(),
    (reason) => reason,
  );
  expect(error).toMatchObject({ code: Code.ResourceExhausted, reason: "RESOURCE_EXHAUSTED" });
  expect(error.retryAfter).toBeGreaterThan(0);
});

test("errors of an exchange have their details", async () => {
  await using platform = await startPlatform();
  const { baseUrl, token } = platform;
  await expect(exchangeToken({ server: baseUrl }, token, { capabilities: ["none"] })).rejects.toMatchObject({
    code: Code.InvalidArgument,
    reason: "INVALID_ARGUMENT",
    violations: [{ field: "cap" }],
    requestId: expect.any(String),
  });
});

test.each<[number, string, Code]>([
  [200, "<html>", Code.Unimplemented],
  [200, "{}", Code.Unimplemented],
  [404, "", Code.Unimplemented],
  [429, "slow", Code.Unavailable],
  [503, "<html>", Code.Unavailable],
  [503, '{"error":"temporarily_unavailable"}', Code.Unavailable],
  [
    429,
    '{"code":8,"message":"slow","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":1}]}',
    Code.ResourceExhausted,
  ],
])("an answer with status %i and the body %s has code %i", async (status, body, code) => {
  const server = await serve((_, response) => response.writeHead(status).end(body));
  await expect(exchangeToken({ server }, "token")).rejects.toMatchObject({ name: "ConnectError", code });
  await expect(refreshToken({ server }, "token")).rejects.toMatchObject({ name: "ConnectError", code });
});
