/** `platform contract check`, against this server and against servers with faults that were put in on purpose. */
import { XMLParser } from "fast-xml-parser";
import { describe, expect, test } from "vitest";
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

/** Answers of lists of repos. */
const isRepoList = (json: Json) => Array.isArray(json.repos);

const faults: readonly [what: string, rule: string, operation: string, fault: Fault][] = [
  [
    "a wrong status",
    "get/unknown-uid",
    "GetRepo",
    {
      answer: (json, { method, url }, status) =>
        status === 404 && method === "GET" && url.pathname.startsWith("/registry/v2/repos/")
          ? { json: { ...json, code: 13 }, status: 500 }
          : undefined,
    },
  ],
  [
    "no total_count",
    "lists/total-count",
    "ListRepos",
    {
      answer: ({ totalCount: _, ...json }) => (isRepoList(json) ? { json } : undefined),
    },
  ],
  [
    "pages out of order",
    "lists/pages",
    "ListRepos",
    { answer: (json) => (isRepoList(json) ? { json: { ...json, repos: json.repos.toReversed() } } : undefined) },
  ],
  [
    "an etag that is ignored",
    "etag/stale",
    "UpdateGroup",
    {
      request(request) {
        if (request.method === "PATCH") request.body = request.body.replace(/"etag":"(\\"|[^"])*",?/, "");
      },
    },
  ],
  [
    "a mask that is ignored",
    "masks/only-named",
    "UpdateRepo",
    { request: ({ url }) => url.searchParams.delete("update_mask") },
  ],
];

onOneServer("a check of a faulty server", (platform) => {
  async function differences(fault: Fault): Promise<Json[]> {
    const proxy = await startFaultyProxy(platform().baseUrl, fault);
    const { code, stdout, stderr } = await check(platform(), proxy, "-o", "json");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    return JSON.parse(stdout).filter(({ outcome }: Json) => outcome === "differs");
  }

  test.each(faults)("finds %s", async (_, rule, operation, fault) => {
    expect(await differences(fault)).toContainEqual(expect.objectContaining({ rule, operation }));
  });

  test("finds a group of others that is listed", async () => {
    const foreign = await makeGroup(platform());
    const fault: Fault = {
      answer: (json, { headers }) =>
        Array.isArray(json.groups) && headers.authorization !== `Bearer ${platform().admin}`
          ? { json: { ...json, groups: [...json.groups, foreign] } }
          : undefined,
    };
    const found = await differences(fault);
    expect(found).toContainEqual(
      expect.objectContaining({
        rule: "authorization/scope",
        operation: "ListGroups",
        actual: expect.arrayContaining([foreign.uid]),
      }),
    );
  });
});

onOneServer("the report", (platform) => {
  const noTotals: Fault = faults[1]![3];

  test("as text names the rule, what was expected and what came", async () => {
    const { code, stdout } = await check(platform(), await startFaultyProxy(platform().baseUrl, noTotals));
    expect(code).toBe(1);
    expect(stdout).toContain(
      'lists/total-count  ListRepos\n  rule:     totalCount is the number of all matching results, on every page.\n  expected: "',
    );
    expect(stdout).toMatch(/ [1-9]\d* differences?, 2 skipped\n$/);
  });

  test("as JUnit and as TAP has every check", async () => {
    const proxy = await startFaultyProxy(platform().baseUrl, noTotals);
    const junit = await check(platform(), proxy, "-o", "junit");
    const { testsuite } = new XMLParser({ ignoreAttributes: false }).parse(junit.stdout);
    const failed = testsuite.testcase.filter(({ failure }: Json) => failure !== undefined);
    expect(failed.map((it: Json) => `${it["@_classname"]} ${it["@_name"]}`)).toContain("lists/total-count ListRepos");
    expect(testsuite.testcase).toHaveLength(Number(testsuite["@_tests"]));
    const tap = (await check(platform(), proxy, "-o", "tap")).stdout;
    const [, count] = /^TAP version 14\n1\.\.(\d+)\n/.exec(tap)!;
    expect(tap.match(/^(not )?ok \d+ - /gm)).toHaveLength(Number(count));
    expect(tap).toMatch(/^not ok \d+ - lists\/total-count ListRepos\n# rule: /m);
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

  test("needs a token, and a server that answers", async () => {
    const none = await runHere(["contract", "check", "--server", "http://127.0.0.1:9"]);
    expect(none).toMatchObject({ code: 4, stderr: expect.stringContaining("needs a token") });
    const nobody = await runHere(["contract", "check", "--server", "http://127.0.0.1:9", "--token", "x"]);
    expect(nobody).toMatchObject({ code: 6, stderr: expect.stringContaining("cannot reach http://127.0.0.1:9") });
  });
});
