/** Repos and their readmes. */
import { expect, test } from "vitest";
import { digestOf, freshName, freshUid, makeGroup, makeMember, makeRepo, makeTag } from "./fixtures.ts";
import { detailOf, fieldsOf, violationsOf } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";

onEveryServer("repos", (platform) => {
  test.each(protocols)("keep bundles, aliases and tags once each over %s", async (over) => {
    const sets = { bundles: ["base", "ai", "base"], aliases: ["a:1", "a:1"], activeTags: ["2", "1", "2"] };
    const kept = { bundles: ["base", "ai"], aliases: ["a:1"], activeTags: ["2", "1"] };
    const repo = { name: freshName("repo"), ...sets };
    const created = await platform().ok("CreateRepo", { parent: platform().root, repo }, { over });
    expect(created).toMatchObject(kept);
    expect(await platform().ok("UpdateRepo", { repo: { uid: created.uid, ...sets } }, { over })).toEqual(created);
    const many = { uid: created.uid, bundles: Array(15).fill("ai") };
    expect((await platform().ok("UpdateRepo", { repo: many }, { over })).bundles).toEqual(["ai"]);
    const tag = { name: "1", digest: digestOf(1), bundles: ["a", "b", "a"] };
    const made = await platform().ok("CreateTag", { parent: created.uid, tag }, { over });
    expect(made.bundles).toEqual(["a", "b"]);
    expect(await platform().ok("CreateTag", { parent: created.uid, tag }, { over })).toEqual(made);
  });

  test.each(protocols)("create, get, update, delete over %s", async (over) => {
    const parent = platform().root;
    const repo = {
      name: `acme/${freshName("repo")}`,
      description: "First",
      catalogTier: "CATALOG_TIER_BASE",
      bundles: ["base", "ai-gpu"],
      aliases: ["docker.io/acme/app:latest"],
      activeTags: ["1.0", "latest"],
      syncConfig: { source: freshUid(), google: "project" },
    };
    const created = await platform().ok("CreateRepo", { parent, repo }, { over });
    expect(created).toEqual({
      ...repo,
      uid: expect.stringMatching(new RegExp(`^${parent}/[0-9a-f]{16}$`)),
      syncConfig: {
        ...repo.syncConfig,
        amazon: "",
        azure: "",
        uniqueTags: false,
        buildOverlay: "",
        gracePeriod: false,
      },
      createTime: expect.any(String),
      updateTime: created.createTime,
      etag: expect.any(String),
    });
    const { uid } = created;
    expect(await platform().read("GetRepo", { uid })).toEqual(created);
    const updated = await platform().ok("UpdateRepo", { repo: { uid, description: "Changed" } }, { over });
    expect(updated).toEqual({
      ...created,
      description: "Changed",
      updateTime: updated.updateTime,
      etag: updated.etag,
    });
    await platform().ok("DeleteRepo", { uid }, { over });
    const status = await platform().refused("GetRepo", { uid }, "NOT_FOUND");
    expect(status.message).toBe(`Not found: Repo "${uid}" does not exist`);
    expect(detailOf(status)).toEqual({ resourceType: "registry.platform.internal/Repo", resourceName: uid });
    await platform().refused("DeleteRepo", { uid }, "NOT_FOUND");
  });

  test("a new repo shows its defaults, and no sync_config", async () => {
    const repo = await makeRepo(platform(), platform().root);
    expect(repo).toMatchObject({
      description: "",
      catalogTier: "CATALOG_TIER_UNSPECIFIED",
      bundles: [],
      aliases: [],
      activeTags: [],
    });
    expect(repo.syncConfig).toBeUndefined();
  });

  test.each(protocols)("a list over %s has each repo as Get gives it", async (over) => {
    const { uid: group } = await makeGroup(platform());
    const made = [];
    for (const fields of [
      {},
      {
        description: 'ünï "quoted" \\ 日本 😀',
        bundles: ["base", "fips"],
        aliases: ["a:b"],
        catalogTier: "CATALOG_TIER_AI",
      },
      { syncConfig: { source: freshUid(), amazon: "ämazon", gracePeriod: true }, activeTags: ["1.0"] },
    ]) {
      const { uid } = await makeRepo(platform(), group, fields);
      made.push(await platform().read("GetRepo", { uid }));
    }
    const { repos } = await platform().ok("ListRepos", { uidp: { descendantsOf: group } }, { over });
    expect(repos).toEqual(made.toSorted((a, b) => (a.uid < b.uid ? -1 : 1)));
  });

  test.each(["a", "0", "a/b", "acme/app.web_x__y--z/v1", "x".repeat(255)])("takes the name %j", async (name) => {
    const { uid } = await makeGroup(platform());
    expect((await makeRepo(platform(), uid, { name })).name).toBe(name);
  });

  test.each(["", "A", "a//b", "/a", "a/", "a..b", "a___b", "-a", "a-", "a b", "a:b", "x".repeat(256)])(
    "refuses the name %j",
    async (name) => {
      const request = { parent: platform().root, repo: { name } };
      expect(fieldsOf(await platform().refused("CreateRepo", request, "INVALID_ARGUMENT"))).toEqual(["name"]);
    },
  );

  test.each([
    [{ description: "a\nb" }, ["description"]],
    [{ catalogTier: 77 }, ["catalog_tier"]],
    [{ bundles: ["base", "golden"] }, ["bundles[1]"]],
    [{ aliases: ["no-tag"] }, ["aliases[0]"]],
    [{ activeTags: ["-x"] }, ["active_tags[0]"]],
    [{ syncConfig: {} }, ["sync_config.source"]],
    [
      { syncConfig: { source: "" }, bundles: ["x"], description: "\t" },
      ["description", "bundles[0]", "sync_config.source"],
    ],
  ])("refuses %j", async (more, fields) => {
    const request = { parent: platform().root, repo: { name: freshName(), ...more } };
    expect(fieldsOf(await platform().refused("CreateRepo", request, "INVALID_ARGUMENT"))).toEqual(fields);
  });

  test("a name is unique in its group, and only there", async () => {
    const { uid: parent } = await makeGroup(platform());
    const { uid: other } = await makeGroup(platform(), parent);
    const first = await makeRepo(platform(), parent, { name: "app" });
    await makeRepo(platform(), other, { name: "app" });
    const status = await platform().refused("CreateRepo", { parent, repo: { name: "app" } }, "ALREADY_EXISTS");
    expect(detailOf(status)).toEqual({ resourceType: "registry.platform.internal/Repo", resourceName: first.uid });
    const second = await makeRepo(platform(), parent, { name: "web" });
    const rename = { repo: { uid: second.uid, name: "app" } };
    const taken = await platform().refused("UpdateRepo", rename, "ALREADY_EXISTS");
    expect(detailOf(taken)).toEqual(detailOf(status));
    await platform().ok("UpdateRepo", { repo: { uid: first.uid, name: "gone" } });
    expect(await platform().ok("UpdateRepo", rename)).toMatchObject({ uid: second.uid, name: "app" });
  });

  test("of many who create one name at once, one succeeds", async () => {
    const { uid: parent } = await makeGroup(platform());
    const outcomes = await Promise.all(
      Array.from({ length: 9 }, (_, i) =>
        platform().call("CreateRepo", { parent, repo: { name: "race" } }, { over: protocols[i % 3]! }),
      ),
    );
    const [winner, ...others] = outcomes.filter(({ ok }) => ok);
    expect(others).toEqual([]);
    for (const outcome of outcomes) {
      if (outcome.ok) continue;
      expect(outcome.status.code).toBe(6);
      expect(detailOf(outcome.status).resourceName).toBe(winner?.ok && winner.message.uid);
    }
  });

  test("a repo with tags is deleted only by force, and they go with it", async () => {
    const repo = await makeRepo(platform(), platform().root);
    const tag = await makeTag(platform(), repo.uid);
    const status = await platform().refused("DeleteRepo", { uid: repo.uid }, "FAILED_PRECONDITION");
    expect(status.message).toBe("Precondition failed: cannot delete repo with child tags");
    expect(violationsOf(status)).toEqual([
      { type: "RESOURCE_NOT_EMPTY", subject: repo.uid, description: "cannot delete repo with child tags" },
    ]);
    await platform().read("GetTag", { uid: tag.uid });
    await platform().ok("DeleteRepo", { uid: repo.uid, force: true });
    await platform().refused("GetTag", { uid: tag.uid }, "NOT_FOUND");
    expect((await platform().read("ListTags", { uidp: { childrenOf: repo.uid } })).totalCount).toBe("0");
  });

  test("the example of the specification: updateMask over REST", async () => {
    const { uid, name } = await makeRepo(platform(), platform().root);
    const patch = async (query: string, body: object) =>
      (
        await platform().fetch(`/registry/v2/repos/${uid}${query}`, { method: "PATCH", body: JSON.stringify(body) })
      ).json();
    expect(await patch("", { description: "one" })).toMatchObject({ name, description: "one" });
    expect(await patch("?updateMask=description", { description: "two", name: "ignored" })).toMatchObject({
      name,
      description: "two",
    });
    expect(await patch("?updateMask=*", { name: "replaced-by-star" })).toMatchObject({
      name: "replaced-by-star",
      description: "",
    });
  });

  test("lists by exact name, even the empty one", async () => {
    const { uid: parent } = await makeGroup(platform());
    const repo = await makeRepo(platform(), parent, { name: "exact" });
    await makeRepo(platform(), parent, { name: "exactly" });
    const by = async (name: string) =>
      (await platform().read("ListRepos", { name, uidp: { descendantsOf: parent } })).repos;
    expect(await by("exact")).toEqual([repo]);
    expect(await by("exac")).toEqual([]);
    expect(await by("EXACT")).toEqual([]);
    expect(await by("")).toEqual([]);
  });

  test("a uid in a path is raw or has its slashes escaped", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    for (const path of [uid, uid.replace("/", "%2F"), uid.replace("/", "%2f")]) {
      const response = await platform().fetch(`/registry/v2/repos/${path}`);
      expect(await response.json()).toMatchObject({ uid });
    }
  });

  test("a missing group is not found", async () => {
    const parent = freshUid(platform().root);
    const status = await platform().refused("CreateRepo", { parent, repo: { name: "x" } }, "NOT_FOUND");
    expect(detailOf(status)).toEqual({ resourceType: "iam.platform.internal/Group", resourceName: parent });
  });

  test("a repo is not a group", async () => {
    const { uid: parent } = await makeRepo(platform(), platform().root);
    await platform().refused("CreateRepo", { parent, repo: { name: "x" } }, "NOT_FOUND");
    await platform().refused("CreateGroup", { parent, group: { name: "x" } }, "NOT_FOUND");
    await platform().refused("GetGroup", { uid: parent }, "NOT_FOUND");
  });
});

onEveryServer("readmes", (platform) => {
  test.each(protocols)("get and update over %s", async (over) => {
    const repo = await makeRepo(platform(), platform().root);
    const { uid } = repo;
    expect(await platform().read("GetRepoReadme", { uid })).toEqual({
      uid,
      content: "",
      createTime: repo.createTime,
      updateTime: repo.createTime,
      etag: expect.any(String),
    });
    const content = "# Read me\r\n\r\n<b>verbatim</b>\t\u{1f600} \n";
    const updated = await platform().ok("UpdateRepoReadme", { repoReadme: { uid, content } }, { over });
    expect(updated).toMatchObject({ uid, content });
    expect(await platform().read("GetRepoReadme", { uid })).toEqual(updated);
    expect(await platform().read("GetRepo", { uid }), "the repo itself is left alone").toEqual(repo);

    const again = await platform().ok("UpdateRepoReadme", { repoReadme: { uid, content } }, { over });
    expect(again, "the same content changes nothing").toEqual(updated);
    const cleared = await platform().ok("UpdateRepoReadme", { repoReadme: { uid }, updateMask: "content" }, { over });
    expect(cleared.content).toBe("");
  });

  test("is at most 256 KiB", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    const whole = "x".repeat(256 * 1024);
    expect((await platform().ok("UpdateRepoReadme", { repoReadme: { uid, content: whole } })).content).toBe(whole);
    expect((await platform().read("GetRepoReadme", { uid })).content).toBe(whole);
    const more = { repoReadme: { uid, content: `${whole}x` } };
    expect(fieldsOf(await platform().refused("UpdateRepoReadme", more, "INVALID_ARGUMENT"))).toEqual(["content"]);
  });

  test("is not there without its repo, and gone with it", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    await platform().ok("UpdateRepoReadme", { repoReadme: { uid, content: "x" } });
    await platform().ok("DeleteRepo", { uid });
    for (const missing of [uid, freshUid(platform().root)]) {
      const status = await platform().refused("GetRepoReadme", { uid: missing }, "NOT_FOUND");
      expect(detailOf(status).resourceName).toBe(missing);
      await platform().refused("UpdateRepoReadme", { repoReadme: { uid: missing, content: "y" } }, "NOT_FOUND");
    }
  });

  test("needs `repo.update` only", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    const { token: as } = await makeMember(platform(), platform().root, ["CAP_REPO_UPDATE"]);
    await platform().ok("UpdateRepoReadme", { repoReadme: { uid, content: "x" } }, { as });
    await platform().ok("UpdateRepo", { repo: { uid, catalogTier: "CATALOG_TIER_AI" } }, { as });
    await platform().refused("GetRepoReadme", { uid }, "PERMISSION_DENIED", { as });
  });

  test("the literal tail wins over a longer uid", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    const response = await platform().fetch(`/registry/v2/repos/${uid}/readme`);
    expect(await response.json()).toMatchObject({ uid, content: "" });
  });
});
