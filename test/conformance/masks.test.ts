/** Partial updates: what changes, what stays, and what an update that comes too late is told. */
import { describe, expect, test } from "vitest";
import type { Json } from "./contract.ts";
import { claimMatch, freshName, freshUid, makeGroup, makeIdentity, makeRepo, makeRole, makeTag } from "./fixtures.ts";
import { fieldsOf, violationsOf } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";

onEveryServer("partial updates", (platform) => {
  const full = {
    description: "First",
    catalogTier: "CATALOG_TIER_BASE",
    bundles: ["base", "ai"],
    aliases: ["acme/app:latest"],
    syncConfig: { source: "source", google: "project" },
  };

  async function patch(uid: string, body: Json, query = "", headers: Record<string, string> = {}) {
    const response = await platform().fetch(`/registry/v2/repos/${uid}${query}`, {
      method: "PATCH",
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers,
    });
    return { status: response.status, json: (await response.json()) as Json };
  }

  describe("without a mask", () => {
    test("only what the body has changes", async () => {
      const repo = await makeRepo(platform(), platform().root, full);
      const { json } = await patch(repo.uid, { description: "Second" });
      expect(json).toEqual({ ...repo, description: "Second", updateTime: json.updateTime, etag: json.etag });
    });

    test.each([
      ['{"description":""}', { description: "" }],
      ['{"description":null}', { description: "" }],
      ['{"bundles":[]}', { bundles: [] }],
      ['{"bundles":null}', { bundles: [] }],
      ['{"catalogTier":0}', { catalogTier: "CATALOG_TIER_UNSPECIFIED" }],
      ['{"catalog_tier":"CATALOG_TIER_UNSPECIFIED"}', { catalogTier: "CATALOG_TIER_UNSPECIFIED" }],
      ['{"bundles":["fips"],"aliases":null}', { bundles: ["fips"], aliases: [] }],
    ])("REST takes the keys that are there: %s", async (body, changes) => {
      const repo = await makeRepo(platform(), platform().root, full);
      const { json } = await patch(repo.uid, body);
      expect(json).toEqual({ ...repo, ...changes, updateTime: json.updateTime, etag: json.etag });
    });

    test("REST: null removes a message", async () => {
      const repo = await makeRepo(platform(), platform().root, full);
      const { json } = await patch(repo.uid, { syncConfig: null });
      expect(json.syncConfig).toBeUndefined();
      expect(json.description).toBe("First");
    });

    test("REST: keys of a message within are a mask within", async () => {
      const repo = await makeRepo(platform(), platform().root, full);
      const { json } = await patch(repo.uid, { syncConfig: { amazon: "account" } });
      expect(json.syncConfig).toMatchObject({ source: "source", google: "project", amazon: "account" });
      expect((await patch(repo.uid, { syncConfig: { google: "" } })).json.syncConfig).toMatchObject({
        source: "source",
        google: "",
        amazon: "account",
      });
    });

    test.each(["grpc", "connect"] as const)("%s takes the populated fields", async (over) => {
      const repo = await makeRepo(platform(), platform().root, full);
      const { uid } = repo;
      const body = {
        uid,
        description: "",
        bundles: [],
        aliases: ["a:b"],
        syncConfig: { amazon: "account", google: "" },
      };
      const updated = await platform().ok("UpdateRepo", { repo: body }, { over });
      expect(updated).toEqual({
        ...repo,
        aliases: ["a:b"],
        syncConfig: { ...repo.syncConfig, amazon: "account" },
        updateTime: updated.updateTime,
        etag: updated.etag,
      });
    });

    test("an empty body changes nothing", async () => {
      const repo = await makeRepo(platform(), platform().root, full);
      expect((await patch(repo.uid, "{}")).json).toEqual(repo);
      for (const over of protocols)
        expect(await platform().ok("UpdateRepo", { repo: { uid: repo.uid } }, { over })).toEqual(repo);
    });
  });

  describe.each(protocols)("with a mask, over %s", (over) => {
    test("only what it names changes", async () => {
      const repo = await makeRepo(platform(), platform().root, full);
      const body = { uid: repo.uid, name: "ignored", description: "Second", bundles: ["fips"] };
      const updated = await platform().ok("UpdateRepo", { repo: body, updateMask: "description" }, { over });
      expect(updated).toEqual({ ...repo, description: "Second", updateTime: updated.updateTime, etag: updated.etag });
    });

    test("what it names and the body lacks is cleared", async () => {
      const repo = await makeRepo(platform(), platform().root, full);
      const request = { repo: { uid: repo.uid }, updateMask: "description,catalogTier,bundles,syncConfig" };
      const updated = await platform().ok("UpdateRepo", request, { over });
      expect(updated).toMatchObject({ description: "", catalogTier: "CATALOG_TIER_UNSPECIFIED", bundles: [] });
      expect(updated.syncConfig).toBeUndefined();
      expect(updated).toMatchObject({ name: repo.name, aliases: full.aliases });
    });

    test("a path goes into a message, a repeated field is whole", async () => {
      const repo = await makeRepo(platform(), platform().root, full);
      const body = { uid: repo.uid, bundles: ["byol"], syncConfig: { source: "ignored", google: "other" } };
      const updated = await platform().ok(
        "UpdateRepo",
        { repo: body, updateMask: "syncConfig.google,bundles" },
        { over },
      );
      expect(updated.syncConfig).toEqual({ ...repo.syncConfig, google: "other" });
      expect(updated.bundles).toEqual(["byol"]);
    });

    test("an empty one is none", async () => {
      const repo = await makeRepo(platform(), platform().root, full);
      const request = { repo: { uid: repo.uid, description: "Second" }, updateMask: "" };
      expect(await platform().ok("UpdateRepo", request, { over })).toMatchObject({
        description: "Second",
        bundles: full.bundles,
      });
    });

    test("`*` replaces every mutable field", async () => {
      const repo = await makeRepo(platform(), platform().root, full);
      const body = {
        uid: repo.uid,
        name: freshName("other"),
        aliases: ["x:y"],
        createTime: "2001-01-01T00:00:00.000Z",
      };
      const updated = await platform().ok("UpdateRepo", { repo: body, updateMask: "*" }, { over });
      expect(updated).toEqual({
        uid: repo.uid,
        name: body.name,
        description: "",
        catalogTier: "CATALOG_TIER_UNSPECIFIED",
        bundles: [],
        aliases: ["x:y"],
        activeTags: [],
        createTime: repo.createTime,
        updateTime: updated.updateTime,
        etag: updated.etag,
      });
    });

    test("output-only paths are ignored", async () => {
      const repo = await makeRepo(platform(), platform().root, full);
      const body = { uid: repo.uid, createTime: "2001-01-01T00:00:00.000Z", syncConfig: { uniqueTags: true } };
      const request = { repo: body, updateMask: "createTime,updateTime,uid,syncConfig.uniqueTags" };
      expect(await platform().ok("UpdateRepo", request, { over })).toEqual(repo);
    });

    test("what stays out of it is not looked at", async () => {
      const repo = await makeRepo(platform(), platform().root, full);
      const body = { uid: repo.uid, name: "NOT A NAME", description: "Second" };
      const updated = await platform().ok("UpdateRepo", { repo: body, updateMask: "description" }, { over });
      expect(updated.description).toBe("Second");
    });

    test("`*` beside other paths is not a field", async () => {
      const { uid } = await makeRepo(platform(), platform().root);
      const outcome = await platform().call("UpdateRepo", { repo: { uid }, updateMask: "*,description" }, { over });
      expect(outcome).toMatchObject({ ok: false, status: { code: 3 } });
    });
  });

  test("paths are read in both spellings, given together or one by one", async () => {
    for (const query of [
      "?updateMask=syncConfig.google,catalogTier",
      "?update_mask=sync_config.google,catalog_tier",
      "?updateMask=sync_config.google%2CcatalogTier",
    ]) {
      const repo = await makeRepo(platform(), platform().root, full);
      const { json } = await patch(repo.uid, { catalogTier: "CATALOG_TIER_AI", syncConfig: { google: "g" } }, query);
      expect(json).toMatchObject({ catalogTier: "CATALOG_TIER_AI", syncConfig: { google: "g", source: "source" } });
    }
    const identity = await makeIdentity(platform(), platform().root, {
      claimMatch: { ...claimMatch(), claims: { a: "b" } },
    });
    const response = await platform().fetch(`/iam/v2/identities/${identity.uid}?updateMask=claim_match.subject`, {
      method: "PATCH",
      body: JSON.stringify({ claimMatch: { subject: "other" } }),
    });
    expect(((await response.json()) as Json).claimMatch).toEqual({ ...identity.claimMatch, subject: "other" });
  });

  test.each(["nope", "description.x", "syncConfig.nope", "bundles.0", "description,", ","])(
    "the path %j names nothing",
    async (updateMask) => {
      const { uid } = await makeRepo(platform(), platform().root);
      const status = await platform().refused("UpdateRepo", { repo: { uid }, updateMask }, "INVALID_ARGUMENT");
      expect(fieldsOf(status)).toEqual(["update_mask"]);
    },
  );

  test("every path that names nothing is told", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    const status = await platform().refused(
      "UpdateRepo",
      { repo: { uid }, updateMask: "nope,name," },
      "INVALID_ARGUMENT",
    );
    expect(violationsOf(status)).toMatchObject([
      { field: "update_mask", description: '"nope" is not a field' },
      { field: "update_mask", description: '"" is not a field' },
    ]);
  });

  test("value rules hold for what the mask names", async () => {
    const { uid } = await makeRepo(platform(), platform().root, full);
    for (const [updateMask, field] of [
      ["name", "name"],
      ["*", "name"],
      ["syncConfig.source", "sync_config.source"],
    ] as const) {
      const status = await platform().refused("UpdateRepo", { repo: { uid }, updateMask }, "INVALID_ARGUMENT");
      expect(fieldsOf(status)).toEqual([field]);
    }
  });

  test("the path's uid wins over the body's", async () => {
    const [one, two] = [await makeRepo(platform(), platform().root), await makeRepo(platform(), platform().root)];
    const { json } = await patch(one.uid, { uid: two.uid, description: "which?" });
    expect(json).toMatchObject({ uid: one.uid, description: "which?" });
    expect(await platform().read("GetRepo", { uid: two.uid })).toEqual(two);
    expect((await patch(one.uid, { ...json, uid: freshUid(), description: "again" })).json.uid).toBe(one.uid);
  });

  test("an update that changes nothing leaves update_time and etag", async () => {
    const repo = await makeRepo(platform(), platform().root, full);
    for (const over of protocols) {
      expect(await platform().ok("UpdateRepo", { repo: { uid: repo.uid, description: "First" } }, { over })).toEqual(
        repo,
      );
      expect(await platform().ok("UpdateRepo", { repo, updateMask: "*" }, { over })).toEqual(repo);
    }
    const role = await makeRole(platform(), platform().root, ["CAP_REPO_LIST"]);
    expect(await platform().ok("UpdateRole", { role: { uid: role.uid, capabilities: role.capabilities } })).toEqual(
      role,
    );
  });

  test("concurrent updates of different fields all survive", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    const changes: Json[] = [
      { description: "d" },
      { catalogTier: "CATALOG_TIER_AI" },
      { bundles: ["fips"] },
      { aliases: ["a:b"] },
      { activeTags: ["t"] },
      { syncConfig: { source: "s" } },
    ];
    await Promise.all(
      changes.map((change, i) =>
        platform().ok("UpdateRepo", { repo: { uid, ...change } }, { over: protocols[i % 3]! }),
      ),
    );
    expect(await platform().read("GetRepo", { uid })).toMatchObject(Object.assign({}, ...changes));
  });

  test("a client may send back what it got", async () => {
    for (const [method, resource] of [
      ["UpdateGroup", { group: await makeGroup(platform()) }],
      ["UpdateRole", { role: await makeRole(platform(), platform().root, ["CAP_REPO_LIST"]) }],
      ["UpdateIdentity", { identity: await makeIdentity(platform(), platform().root) }],
      ["UpdateRepo", { repo: await makeRepo(platform(), platform().root, full) }],
    ] as const)
      for (const over of protocols)
        expect(await platform().ok(method, resource, { over })).toEqual(Object.values(resource)[0]);
  });

  describe("etags", () => {
    test("If-None-Match over REST: 304 while nothing has changed", async () => {
      const repo = await makeRepo(platform(), platform().root);
      const ask = (tags: string, method = "GET", headers = {}) =>
        platform().fetch(`/registry/v2/repos/${repo.uid}`, { method, headers: { "if-none-match": tags, ...headers } });
      for (const tags of [repo.etag, `W/${repo.etag}`, `"a,b", ${repo.etag}`, "*"]) {
        for (const method of ["GET", "HEAD"]) {
          const response = await ask(tags, method);
          expect([tags, response.status, await response.text()]).toEqual([tags, 304, ""]);
          expect(response.headers.get("etag")).toBe(repo.etag);
          expect(response.headers.get("vary")).toMatch(/accept-encoding/i);
          expect(response.headers.get("cache-control")).toBe("no-store");
          expect(["content-length", "content-type"].map((name) => response.headers.get(name))).toEqual([null, null]);
        }
      }
      expect((await ask(repo.etag, "GET", { authorization: "Bearer e30.e30.e30" })).status).toBe(401);
      const stranger = await platform().fetch(`/registry/v2/repos/${freshUid()}`, {
        headers: { "if-none-match": "*" },
      });
      expect(stranger.status).toBe(404);
      expect((await patch(repo.uid, { description: "1" }, "", { "if-none-match": repo.etag })).status).toBe(200);
      for (const tags of [repo.etag, '"other"', repo.etag.replaceAll('"', ""), ""]) {
        const response = await ask(tags);
        expect([tags, response.status]).toEqual([tags, 200]);
        expect(await response.json()).not.toMatchObject({ etag: repo.etag });
      }
    });

    test("If-Match over REST, on GET, PATCH and DELETE", async () => {
      const repo = await makeRepo(platform(), platform().root);
      const address = `/registry/v2/repos/${repo.uid}`;
      const got = await platform().fetch(address);
      expect(got.headers.get("etag")).toBe(repo.etag);
      const changed = await patch(repo.uid, { description: "1" }, "", { "if-match": repo.etag });
      expect(changed.status).toBe(200);
      expect(changed.json.etag).not.toBe(repo.etag);
      for (const method of ["GET", "PATCH", "DELETE"]) {
        const response = await platform().fetch(address, {
          method,
          headers: { "if-match": repo.etag },
          ...(method === "PATCH" && { body: '{"description":"2"}' }),
        });
        expect([method, response.status]).toEqual([method, 409]);
        expect(await response.json()).toMatchObject({ code: 10, details: [{ reason: "ABORTED" }] });
      }
      expect((await patch(repo.uid, { description: "3" }, "", { "if-match": "*" })).status).toBe(200);
      const { etag } = (await patch(repo.uid, {})).json;
      expect((await patch(repo.uid, {}, "", { "if-match": `"other", ${etag}` })).status).toBe(200);
      const removed = await platform().fetch(address, { method: "DELETE", headers: { "if-match": etag } });
      expect([removed.status, await removed.text()]).toEqual([200, ""]);
    });

    test("the etag field, over every protocol", async () => {
      const repo = await makeRepo(platform(), platform().root);
      const { uid } = repo;
      const changed = await platform().ok("UpdateRepo", { repo: { uid, description: "1", etag: repo.etag } });
      const stale = { repo: { uid, description: "2", etag: repo.etag } };
      const status = await platform().refused("UpdateRepo", stale, "ABORTED");
      expect(status.message).toMatch(/^Aborted: /);
      await platform().refused("DeleteRepo", { uid, etag: repo.etag }, "ABORTED");
      expect(await platform().read("GetRepo", { uid })).toEqual(changed);
      await platform().ok("DeleteRepo", { uid, etag: changed.etag }, { over: "grpc" });
    });

    test.each([
      ["group", () => makeGroup(platform()), "DeleteGroup"],
      ["identity", () => makeIdentity(platform(), platform().root), "DeleteIdentity"],
      ["role", () => makeRole(platform(), platform().root, ["CAP_REPO_LIST"]), "DeleteRole"],
      ["tag", async () => makeTag(platform(), (await makeRepo(platform(), platform().root)).uid), "DeleteTag"],
    ] as const)("a %s is not deleted by a stale etag", async (_, make, remove) => {
      const { uid, etag } = await make();
      await platform().refused(remove, { uid, etag: '"stale"' }, "ABORTED");
      await platform().ok(remove, { uid, etag });
    });

    test("of two updates with one etag, one wins", async () => {
      const { uid, etag } = await makeRepo(platform(), platform().root);
      const outcomes = await Promise.all(
        ["a", "b", "c"].map((description, i) =>
          platform().call("UpdateRepo", { repo: { uid, description, etag } }, { over: protocols[i]! }),
        ),
      );
      expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
      for (const outcome of outcomes) if (!outcome.ok) expect(outcome.status.code).toBe(10);
    });
  });

  describe("validate_only", () => {
    test.each(protocols)("answers as usual and changes nothing, over %s", async (over) => {
      const { uid: parent } = await makeGroup(platform());
      const made = await platform().ok("CreateRepo", { parent, repo: { name: "x" }, validateOnly: true }, { over });
      expect(made).toMatchObject({ name: "x", createTime: expect.any(String) });
      await platform().refused("GetRepo", { uid: made.uid }, "NOT_FOUND");
      const repo = await makeRepo(platform(), parent, { name: "x" });
      const change = { repo: { uid: repo.uid, description: "new" }, validateOnly: true };
      expect((await platform().ok("UpdateRepo", change, { over })).description).toBe("new");
      await platform().ok("DeleteRepo", { uid: repo.uid, validateOnly: true }, { over });
      expect(await platform().read("GetRepo", { uid: repo.uid })).toEqual(repo);
    });

    test("refuses as usual", async () => {
      const { uid: parent } = await makeGroup(platform());
      await makeRepo(platform(), parent, { name: "taken" });
      const validateOnly = true;
      await platform().refused("CreateRepo", { parent, repo: { name: "A" }, validateOnly }, "INVALID_ARGUMENT");
      await platform().refused("CreateRepo", { parent, repo: { name: "taken" }, validateOnly }, "ALREADY_EXISTS");
      await platform().refused("DeleteGroup", { uid: parent, validateOnly }, "FAILED_PRECONDITION");
    });
  });
});
