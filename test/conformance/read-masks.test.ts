/** Answers with some of the fields of repos (AIP-157). */
import { expect, test } from "vitest";
import type { Json } from "./contract.ts";
import { freshName, makeGroup } from "./fixtures.ts";
import { violationsOf } from "./outcome.ts";
import { onEveryServer, type Platform, protocols } from "./platform.ts";

onEveryServer("a read mask", (platform) => {
  test.each(protocols)("leaves what it does not name empty over %s", async (over) => {
    const { group, repo } = await largeRepo(platform());
    const readMask = "uid,name,syncConfig.source";
    const kept = { uid: repo.uid, name: repo.name, syncConfig: { source: "elsewhere" } };
    const empty = { description: "", bundles: [], aliases: [], activeTags: [], etag: "" };
    const partial = (found: Json) => {
      expect(found).toMatchObject({ ...kept, ...empty });
      expect(found.syncConfig).toMatchObject({ google: "" });
      expect(found).not.toHaveProperty("createTime");
    };
    partial(await platform().ok("GetRepo", { uid: repo.uid, readMask }, { over }));
    const { repos } = await platform().ok("BatchGetRepos", { uids: [repo.uid], readMask }, { over });
    partial(repos[0]);
    const list = await platform().ok("ListRepos", { uidp: { childrenOf: group }, readMask }, { over });
    expect(list).toMatchObject({ totalCount: "1", skipped: 0 });
    partial(list.repos[0]);
  });

  test.each([undefined, "", "*"])("%j is the whole repo", async (readMask) => {
    const { group, repo } = await largeRepo(platform());
    const mask = readMask !== undefined && { readMask };
    expect(await platform().ok("GetRepo", { uid: repo.uid, ...mask })).toEqual(repo);
    expect((await platform().ok("BatchGetRepos", { uids: [repo.uid], ...mask })).repos).toEqual([repo]);
    expect((await platform().ok("ListRepos", { uidp: { childrenOf: group }, ...mask })).repos).toEqual([repo]);
  });

  test("with an unknown path is refused", async () => {
    const { repo } = await largeRepo(platform());
    const requests: [string, Json][] = [
      ["GetRepo", { uid: repo.uid }],
      ["BatchGetRepos", { uids: [repo.uid] }],
      ["ListRepos", {}],
    ];
    for (const [method, request] of requests) {
      const status = await platform().refused(method, { ...request, readMask: "name,tags" }, "INVALID_ARGUMENT");
      expect(violationsOf(status)).toMatchObject([{ field: "read_mask", description: '"tags" is not a field' }]);
    }
  });

  test("is that of each page", async () => {
    const { uid: group } = await makeGroup(platform(), "");
    for (const name of ["a", "b"])
      await platform().ok("CreateRepo", { parent: group, repo: { name, aliases: ["x:1"] } });
    const request = { uidp: { childrenOf: group }, pageSize: 1, orderBy: "name" };
    const first = await platform().ok("ListRepos", { ...request, readMask: "name" });
    expect(first.repos).toMatchObject([{ uid: "", name: "a", aliases: [] }]);
    const second = await platform().ok("ListRepos", { ...request, pageToken: first.nextPageToken });
    expect(second.repos).toMatchObject([{ name: "b", aliases: ["x:1"] }]);
  });
});

async function largeRepo(platform: Platform): Promise<{ group: string; repo: Json }> {
  const { uid: group } = await makeGroup(platform, "");
  const repo = await platform.ok("CreateRepo", {
    parent: group,
    repo: {
      name: freshName("repo"),
      description: "Much of it",
      bundles: ["base"],
      aliases: ["a:1", "b:2"],
      activeTags: ["1", "2"],
      syncConfig: { source: "elsewhere", google: "project" },
    },
  });
  return { group, repo };
}
