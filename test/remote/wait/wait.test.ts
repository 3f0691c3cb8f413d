/** `platform wait` against a server, and against one that fails at first. */

import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { runPlatform } from "../../cli/platform-process.ts";
import { startWithFolder } from "../server.ts";
import { type Answer, startStub } from "../stub-server.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;

beforeAll(async () => {
  server = await startWithFolder();
  await server.run(["create", "repo", "--parent", server.root, "--name", "nginx", "--catalog-tier", "base"]);
});
afterAll(() => server.stop());

test.each<[string, string[], RegExp]>([
  ["exists", ["repo", "nginx", "--for", "exists"], /^repo\/[0-9a-f/]{57} exists\n$/],
  ["is deleted", ["repo", "nothing", "--for", "deleted"], /^repo\/nothing is deleted\n$/],
  ["has a string", ["repos", "nginx", "--for", "name=nginx"], /^repo\/\S+ name is "nginx"\n$/],
  ["has an enum value", ["repo", "nginx", "--for", "catalogTier=base"], /^repo\/\S+ catalogTier is base\n$/],
  ["has the full name", ["repo", "nginx", "--for", "catalog_tier=CATALOG_TIER_BASE"], /catalog_tier is base\n$/],
  ["has no text", ["repo", "nginx", "--for", "description="], /description is ""\n$/],
])("a resource that %s is not waited for", async (_, args, stdout) => {
  const outcome = await server.run(["wait", ...args]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  expect(outcome.stdout).toMatch(stdout);
});

test.each<[string, string[], number, RegExp]>([
  ["time", ["nginx", "--for", "deleted", "--within", "2"], 6, /^error: not within 2 s: repo\/\S+ exists\n$/],
  [
    "time",
    ["nothing", "--for", "exists", "--within", "2"],
    6,
    /^error: not within 2 s: repo\/nothing does not exist\n$/,
  ],
  [
    "time",
    ["nginx", "--for", "catalog_tier=ai", "--within", "2"],
    6,
    /not within 2 s: repo\/\S+ catalog_tier is base\n$/,
  ],
  ["time", ["nginx", "--for", "sync_config.unique_tags=true", "--within", "2"], 6, /unique_tags is not set\n$/],
  ["a missing resource", ["nothing", "--for", "name=x"], 3, /^error: no repo is named nothing\n$/],
  ["a missing uid", ["0".repeat(40), "--for", "name=x"], 3, /^error: Not found/],
  ["a refused token", ["nginx", "--for", "exists", "--token", "wrong"], 4, /^error: Unauthenticated/],
  ["an unknown field", ["nginx", "--for", "nam=x"], 2, /^error: --for: there is no nam; did you mean name\?/],
  ["an unknown value", ["nginx", "--for", "catalog_tier=x"], 2, /^error: --for catalog_tier: there is no x/],
  ["another condition", ["nginx", "--for", "ready"], 2, /^error: --for must be exists, deleted or FIELD=VALUE/],
  ["no time", ["nginx", "--for", "exists", "--within", "5m"], 2, /^error: --within must be more than 0, not "5m"/],
  [
    "a server that is not there",
    ["nginx", "--for", "exists", "--within", "2", "--server", "http://127.0.0.1:1"],
    6,
    /^error: not within 2 s: cannot reach http\S+ \(--server\): /,
  ],
])("ends after %s (%j)", async (_, args, code, stderr) => {
  const outcome = await server.run(["wait", "repo", ...args]);
  expect({ code: outcome.code, stdout: outcome.stdout }).toEqual({ code, stdout: "" });
  expect(outcome.stderr).toMatch(stderr);
});

test("changes are seen: a creation, an update and a deletion", async () => {
  const wait = (condition: string) => runPlatform(["wait", "repo", "later", "--for", condition], server);
  const created = wait("exists");
  await server.run(["create", "repo", "--parent", server.root, "--name", "later"]);
  expect(await created).toMatchObject({ code: 0, stdout: expect.stringMatching(/ exists\n$/) });
  const [updated, deleted] = [wait("description=new"), wait("deleted")];
  await server.run(["update", "repo", "later", "--description", "new"]);
  expect(await updated).toMatchObject({ code: 0, stdout: expect.stringMatching(/ description is "new"\n$/) });
  await server.run(["delete", "repo", "later"]);
  expect(await deleted).toMatchObject({ code: 0, stdout: expect.stringMatching(/ is deleted\n$/) });
});

/** A server that gives these answers, the last one again and again. Returns its address, and counts the calls. */
async function answering(...answers: readonly Answer[]) {
  const calls = { count: 0 };
  const { url, stop } = await startStub(() => answers[Math.min(calls.count++, answers.length - 1)]!);
  onTestFinished(stop);
  return { calls, url };
}

const uid = "0".repeat(40);

test("a server that is unavailable, or limits calls, is asked again", async () => {
  const { calls, url } = await answering(
    [503, { code: "unavailable", message: "starting" }],
    [429, { code: "resource_exhausted", message: "too many" }],
    [200, { uid, name: "x" }],
  );
  const { code, stdout } = await server.run(["wait", "role", uid, "--for", "exists", "--server", url]);
  expect({ code, stdout, ...calls }).toEqual({ code: 0, stdout: `role/${uid} exists\n`, count: 3 });
});

test("a server is not asked again before it says so", async () => {
  const retryInfo = toBinary(RetryInfoSchema, create(RetryInfoSchema, { retryDelay: { seconds: 600n } }));
  const details = [{ type: RetryInfoSchema.typeName, value: Buffer.from(retryInfo).toString("base64") }];
  const { calls, url } = await answering([429, { code: "resource_exhausted", message: "too many", details }]);
  const { code, stderr } = await server.run(["wait", "role", uid, "--for", "exists", "--server", url]);
  expect({ code, stderr, ...calls }).toEqual({
    code: 6,
    stderr: "error: not within 300 s: too many\nhint: try again in 600 s\n",
    count: 1,
  });
});
