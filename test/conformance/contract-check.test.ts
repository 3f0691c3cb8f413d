/** `platform contract check`, against this server and against servers with faults that were put in on purpose. */
import { describe, expect, test } from "vitest";
import { startCommand } from "../cli/platform-process.ts";
import { runHere } from "../cli/run-here.ts";
import type { Json } from "./contract.ts";
import { type Fault, startFaultyProxy } from "./faulty-proxy.ts";
import { makeGroup, makeMember } from "./fixtures.ts";
import { onEveryServer, onOneServer, type Platform } from "./platform.ts";

async function check({ admin }: Platform, server: string, ...args: readonly string[]) {
  return runHere(["contract", "check", ...args], { env: { PLATFORM_SERVER: server, PLATFORM_TOKEN: admin } });
}

onEveryServer("a check of this server", (platform) => {
  test("finds no difference, and leaves nothing behind", async () => {
    const count = async () => (await platform().ok("ListGroups", {})).totalCount;
    const before = await count();
    const { code, stdout, stderr } = await check(platform(), platform().baseUrl);
    expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^\d{3} checks, 0 differences, 2 skipped\n$/);
    expect(await count()).toBe(before);
  });
});

/** Faults by what is wrong; each is named by a rule and an operation. */
const faults = (foreign: Json, admin: string): readonly [string, string, string, Fault][] => [
  [
    "a wrong status",
    "get/unknown-uid",
    "GetRepo",
    {
      answer: ({ json, status }, { method, url }) =>
        status === 404 && method === "GET" && url.pathname.startsWith("/registry/v2/repos/")
          ? { json: { ...json, code: 13 }, status: 500 }
          : { json, status },
    },
  ],
  [
    "no total",
    "lists/total-count",
    "ListTags",
    {
      answer: ({ json: { totalCount, ...json }, status }) =>
        json.tags === undefined ? { json: { ...json, totalCount }, status } : { json, status },
    },
  ],
  [
    "pages out of order",
    "lists/pages",
    "ListRepos",
    {
      answer: ({ json, status }) => ({
        json: json.repos === undefined ? json : { ...json, repos: json.repos.toReversed() },
        status,
      }),
    },
  ],
  [
    "an etag that is ignored",
    "etag/stale",
    "UpdateGroup",
    {
      request(request) {
        if (request.method !== "PATCH") return;
        const { etag: _, ...body } = JSON.parse(request.body);
        request.body = JSON.stringify(body);
      },
    },
  ],
  [
    "a method that the server lacks",
    "methods/served",
    "Explain",
    {
      answer: ({ json, status }, { url }) =>
        url.pathname.endsWith("/Explain") ? { json: { code: "unimplemented" }, status: 501 } : { json, status },
    },
  ],
  [
    "a mask that is ignored",
    "masks/only-named",
    "UpdateRepo",
    { request: ({ url }) => url.searchParams.delete("update_mask") },
  ],
  [
    "a method that always fails",
    "calls/succeed",
    "CreateSubscription",
    {
      request(request) {
        if (request.url.pathname.startsWith("/events/") && request.method === "POST") request.body = "{}";
      },
    },
  ],
  [
    "a group of others that is listed",
    "authorization/scope",
    "ListGroups",
    {
      answer: ({ json, status }, { headers }) =>
        json.groups === undefined || headers.authorization === `Bearer ${admin}`
          ? { json, status }
          : { json: { ...json, groups: [...json.groups, foreign] }, status },
    },
  ],
];

onOneServer("a check of a server with faults", (platform) => {
  test("finds each, by operation and rule", async () => {
    const foreign = await makeGroup(platform());
    const all = faults(foreign, platform().admin);
    const proxy = await startFaultyProxy(
      platform().baseUrl,
      all.map(([, , , fault]) => fault),
    );
    const { code, stdout, stderr } = await check(platform(), proxy, "-o", "json");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const found = JSON.parse(stdout).filter(({ outcome }: Json) => outcome === "differs");
    for (const [what, rule, operation] of all)
      expect(found, what).toContainEqual(expect.objectContaining({ rule, operation }));
    const scope = found.find(({ rule }: Json) => rule === "authorization/scope");
    expect(scope.actual).toContain(foreign.uid);
  });
});

describe("the command", () => {
  onOneServer("in a group that is given", (platform) => {
    test("works for whoever owns it", async () => {
      const { uid } = await makeGroup(platform());
      const { token } = await makeMember(platform(), uid, "owner");
      const { code, stdout } = await check({ ...platform(), admin: token }, platform().baseUrl, "--group", uid);
      expect(code, stdout).toBe(0);
    });
  });

  onOneServer("at Ctrl-C", (platform) => {
    test("deletes what it has created", async () => {
      const { baseUrl, admin } = platform();
      const names = async () => (await platform().ok("ListGroups", {})).groups.map(({ name }: Json) => name);
      const env = { PLATFORM_SERVER: baseUrl, PLATFORM_TOKEN: admin };
      const command = startCommand(["contract", "check"], { env });
      await expect.poll(names).toContainEqual(expect.stringMatching(/^check-/));
      expect(await command.end("SIGINT")).toEqual({ code: 130, stdout: "", stderr: "error: interrupted\n" });
      expect(await names()).not.toContainEqual(expect.stringMatching(/^check-/));
    });
  });

  test("needs a token, and a server that answers", async () => {
    const none = await runHere(["contract", "check", "--server", "http://127.0.0.1:9"]);
    expect(none).toMatchObject({ code: 4, stderr: expect.stringContaining("needs a token") });
    const nobody = await runHere(["contract", "check", "--server", "http://127.0.0.1:9", "--token", "x"]);
    expect(nobody).toMatchObject({ code: 6, stderr: expect.stringContaining("cannot reach http://127.0.0.1:9") });
  });
});
