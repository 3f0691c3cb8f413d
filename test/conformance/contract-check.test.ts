/** `platform contract check`, against this server and against servers with faults that were put in on purpose. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startCommand, temporaryFolder } from "../cli/platform-process.ts";
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
    expect(stdout).toMatch(
      /^serves, of (\d+) methods, \1 over REST, \1 over Connect, \1 over gRPC\n\d{3,} checks, 0 differences, 2 skipped\n$/,
    );
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
    "times that are not Z",
    "answers/times",
    "GetTag",
    {
      answer: ({ json, status }, { url }) =>
        url.pathname.startsWith("/registry/v2/tags/") && json.createTime !== undefined
          ? { json: { ...json, createTime: json.createTime.replace("Z", "+00:00") }, status }
          : { json, status },
    },
  ],
  [
    "times that are not Z over Connect",
    "answers/times",
    "GetRole",
    {
      answer: ({ json, status }, { url }) =>
        url.pathname.endsWith("/GetRole") && json.createTime !== undefined
          ? { json: { ...json, createTime: json.createTime.replace("Z", "+00:00") }, status }
          : { json, status },
    },
  ],
  [
    "names of the proto file",
    "answers/json",
    "GetRepo",
    {
      answer: ({ json, status }, { method, url }) => {
        const { createTime, ...others } = json;
        return method === "GET" && url.pathname.startsWith("/registry/v2/repos/") && createTime !== undefined
          ? { json: { ...others, create_time: createTime }, status }
          : { json, status };
      },
    },
  ],
  [
    "no content type",
    "answers/content-type",
    "ListRoles",
    { answer: (answer, { url }) => ({ ...answer, isUntyped: url.pathname === "/iam/v2/roles" }) },
  ],
  [
    "an error without content type",
    "answers/content-type",
    "DeleteTag",
    {
      answer: (answer, { method, url }) => ({
        ...answer,
        isUntyped: method === "DELETE" && url.pathname.startsWith("/registry/v2/tags/") && answer.status >= 400,
      }),
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

onOneServer("a check of a part", (platform) => {
  const found = async (...args: string[]) => {
    const { code, stdout, stderr } = await check(platform(), platform().baseUrl, "-o", "json", ...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return JSON.parse(stdout).filter(({ outcome }: Json) => outcome !== "noted");
  };

  test("by rules changes nothing where it need not", async () => {
    const withToken: string[] = [];
    const proxy = await startFaultyProxy(platform().baseUrl, [
      {
        request({ method, url, headers }) {
          if (headers.authorization === `Bearer ${platform().admin}`) withToken.push(`${method} ${url.pathname}`);
        },
      },
    ]);
    const args = ["--only", "authentication,methods/served", "--skip", "GetRepo", "--protocols", "rest", "-o", "json"];
    const { code, stdout } = await check(platform(), proxy, ...args);
    expect(code).toBe(0);
    const results = JSON.parse(stdout).filter(({ outcome }: Json) => outcome !== "noted");
    expect([...new Set(results.map(({ rule }: Json) => rule))].sort()).toEqual([
      "authentication/invalid-token",
      "authentication/missing-token",
      "authentication/open",
      "methods/served",
    ]);
    expect(results.map(({ operation }: Json) => operation)).not.toContain("GetRepo");
    expect(withToken.filter((call) => call.startsWith("POST "))).toEqual([]); // others are about uids that nothing has
    expect(withToken).toContain("GET /iam/v2/groups");
  });

  test("by methods and protocols", async () => {
    const results = await found("--only", "UpdateRepo", "--protocols", "connect");
    expect(new Set(results.map(({ operation }: Json) => operation))).toEqual(new Set(["UpdateRepo"]));
    const ids = results.map(({ rule }: Json) => rule);
    expect(ids).toEqual(expect.arrayContaining(["masks/only-named", "answers/json", "etag/stale"]));
    expect(ids).not.toContain("protocols/same-answer");
  });

  test.each([
    [["--only", "lists/skp"], "error: --only: there is no rule or method lists/skp; did you mean lists/skip?\n"],
    [["--skip", "list"], "error: --skip: there is no rule or method list; did you mean lists?\n"],
    [["--protocols", "gprc"], "error: --protocols: there is no gprc; did you mean grpc?"],
    [["--baseline", "/nonexistent"], "error: --baseline: cannot read /nonexistent: ENOENT"],
  ])("%j is refused", async (args, message) => {
    const { code, stderr } = await check(platform(), platform().baseUrl, ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

onOneServer("a check of a newer server", (platform) => {
  test("notes in a line what it does not know", async () => {
    const proxy = await startFaultyProxy(platform().baseUrl, [
      {
        answer: ({ json, status }) => ({
          json: json.uid === undefined ? json : { ...json, colour: { name: "red" }, newer: true },
          status,
        }),
      },
    ]);
    const { code, stdout } = await check(platform(), proxy, "--only", "masks,answers");
    expect(stdout).toContain("platform.registry.v2.Repo.colour, platform.registry.v2.Repo.newer");
    expect(stdout.split("\n")).toHaveLength(4);
    expect(code, stdout).toBe(0);
  });
});

onOneServer("a check with a baseline", (platform) => {
  test("fails for new differences alone", async () => {
    const broken = (rule: string): Fault => ({
      answer: ({ json, status }, { method, url }) =>
        method === "PUT" && rule === "verb"
          ? { json, status: 400 }
          : url.pathname === "/registry/v2/nothing" && rule === "path"
            ? { json, status: 400 }
            : { json, status },
    });
    const folder = await temporaryFolder();
    const only = ["--only", "errors/unknown-path,errors/wrong-verb"];
    const one = await startFaultyProxy(platform().baseUrl, [broken("verb")]);
    const { code, stdout } = await check(platform(), one, ...only, "-o", "json");
    expect(code).toBe(1);
    const file = join(folder, "baseline.json");
    await writeFile(file, stdout);
    const again = await check(platform(), one, ...only, "--baseline", file);
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("2 checks, 0 differences, 1 known, 0 skipped"),
    });
    const two = await startFaultyProxy(platform().baseUrl, [broken("verb"), broken("path")]);
    const worse = await check(platform(), two, ...only, "--baseline", file);
    expect(worse).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("2 checks, 1 difference, 1 known, 0 skipped"),
    });
    expect(worse.stdout).toContain("errors/unknown-path  GET");
    expect(worse.stdout).not.toContain("errors/wrong-verb");
  });
});

onOneServer("what a check has created", (platform) => {
  const left = async () => {
    const { groups } = await platform().ok("ListGroups", { pageSize: 200 });
    return groups.map(({ name }: Json) => name).filter((name: string) => name.startsWith("check-"));
  };

  test("is deleted, if the answer did not tell of it", async () => {
    let isFirst = true;
    const proxy = await startFaultyProxy(platform().baseUrl, [
      {
        answer({ json, status }, { method, url }) {
          if (method !== "POST" || status !== 200 || !isFirst) return { json, status };
          if (!url.pathname.startsWith("/iam/v2/groups")) return { json, status };
          isFirst = false;
          return { json: "lost", status: 502 };
        },
      },
    ]);
    const { code, stdout, stderr } = await check(platform(), proxy, "--only", "masks,calls/succeed");
    expect(stdout).toContain("calls/succeed  CreateGroup");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(await left()).toEqual([]);
  });

  test("is deleted, if it should have been refused", async () => {
    const proxy = await startFaultyProxy(platform().baseUrl, [
      {
        request(request) {
          if (request.body === "" || request.method !== "POST") return;
          if (!request.url.pathname.startsWith("/registry/v2/repos/")) return;
          const { nothing: _, ...body } = request.body === "{" ? { name: "check-malformed" } : JSON.parse(request.body);
          request.body = JSON.stringify(body);
        },
      },
    ]);
    const { code, stdout, stderr } = await check(
      platform(),
      proxy,
      "--only",
      "errors/unknown-field,errors/malformed-body",
    );
    expect(stdout).toContain("errors/unknown-field  POST");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(await left()).toEqual([]);
  });

  test("is named, if it cannot be deleted", async () => {
    const proxy = await startFaultyProxy(platform().baseUrl, [
      {
        request(request) {
          if (request.method === "DELETE" && request.url.pathname.startsWith("/iam/v2/groups/"))
            request.headers.authorization = "Bearer none";
        },
      },
    ]);
    const { stderr } = await check(platform(), proxy, "--only", "masks/star");
    const [name, ...others] = await left();
    expect(others).toEqual([]);
    const { groups } = await platform().ok("ListGroups", { name });
    expect(stderr).toMatch(/^warning: not deleted: Group [0-9a-f/]+: Unauthenticated: .*\n$/);
    expect(stderr).toContain(`Group ${groups[0].uid}:`);
    await platform().ok("DeleteGroup", { uid: groups[0].uid });
  });
});

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
