/** Tags: names that can be moved, the families that a list may leave out. */
import { expect, test } from "vitest";
import { digestOf, freshName, freshUid, makeGroup, makeRepo, makeTag } from "./fixtures.ts";
import { detailOf, fieldsOf } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";

onEveryServer("tags", (platform) => {
  test.each(protocols)("create, get, delete over %s", async (over) => {
    const { uid: parent } = await makeRepo(platform(), platform().root);
    const tag = { name: "1.0_RC-1", digest: digestOf(7), deprecated: true, bundles: ["a", "b"] };
    const created = await platform().ok("CreateTag", { parent, tag }, { over });
    expect(created).toEqual({
      ...tag,
      uid: expect.stringMatching(new RegExp(`^${parent}/[0-9a-f]{16}$`)),
      createTime: expect.any(String),
      updateTime: created.createTime,
      etag: expect.any(String),
    });
    const { uid } = created;
    expect(await platform().read("GetTag", { uid })).toEqual(created);
    await platform().ok("DeleteTag", { uid }, { over });
    expect(detailOf(await platform().refused("GetTag", { uid }, "NOT_FOUND"))).toEqual({
      resourceType: "registry.platform.internal/Tag",
      resourceName: uid,
    });
    await platform().refused("DeleteTag", { uid }, "NOT_FOUND");
  });

  test("a new tag is not deprecated", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    expect(await makeTag(platform(), uid)).toMatchObject({ deprecated: false, bundles: [] });
  });

  test.each(protocols)("creating a name that exists moves the tag, over %s", async (over) => {
    const { uid: parent } = await makeRepo(platform(), platform().root);
    const create = (more: object) =>
      platform().ok("CreateTag", { parent, tag: { name: "latest", digest: digestOf(1), ...more } }, { over });
    const first = await create({ bundles: ["a"] });
    expect(await create({ bundles: ["a"] }), "the same content changes nothing").toEqual(first);
    const moved = await create({ digest: digestOf(2), deprecated: true });
    expect(moved).toMatchObject({
      uid: first.uid,
      createTime: first.createTime,
      digest: digestOf(2),
      deprecated: true,
      bundles: [],
    });
    expect(moved.etag).not.toBe(first.etag);
    const back = await create({ digest: digestOf(2) });
    expect(back, "what the body leaves out is cleared").toMatchObject({ deprecated: false, bundles: [] });
    expect((await platform().read("ListTags", { uidp: { childrenOf: parent } })).tags).toEqual([back]);
  });

  test("one name may be in many repos", async () => {
    const [one, two] = [await makeRepo(platform(), platform().root), await makeRepo(platform(), platform().root)];
    const name = freshName("tag");
    const tags = [await makeTag(platform(), one.uid, { name }), await makeTag(platform(), two.uid, { name })];
    expect(new Set(tags.map(({ uid }) => uid)).size).toBe(2);
    expect((await platform().read("ListTags", { name })).totalCount).toBe("2");
  });

  test("of many who create one tag at once, all get the one", async () => {
    const { uid: parent } = await makeRepo(platform(), platform().root);
    const tags = await Promise.all(Array.from({ length: 8 }, () => makeTag(platform(), parent, { name: "race" })));
    expect(new Set(tags.map(({ uid }) => uid)).size).toBe(1);
    expect((await platform().read("ListTags", { uidp: { childrenOf: parent } })).totalCount).toBe("1");
  });

  test.each([
    [{ name: "" }, ["name"]],
    [{ name: ".x" }, ["name"]],
    [{ name: "a b" }, ["name"]],
    [{ name: "x".repeat(129) }, ["name"]],
    [{ digest: "" }, ["digest"]],
    [{ digest: "sha256:abc" }, ["digest"]],
    [{ digest: `sha256:${"A".repeat(64)}` }, ["digest"]],
    [{ digest: `sha512:${"a".repeat(64)}` }, ["digest"]],
    [{ bundles: [""] }, ["bundles[0]"]],
  ])("refuses %j", async (more, fields) => {
    const { uid: parent } = await makeRepo(platform(), platform().root);
    const request = { parent, tag: { name: "x", digest: digestOf(1), ...more } };
    expect(fieldsOf(await platform().refused("CreateTag", request, "INVALID_ARGUMENT"))).toEqual(fields);
    expect((await platform().read("ListTags", { uidp: { childrenOf: parent } })).totalCount).toBe("0");
  });

  test("a move is held to the same rules", async () => {
    const { uid: parent } = await makeRepo(platform(), platform().root);
    await makeTag(platform(), parent, { name: "x" });
    const request = { parent, tag: { name: "x" } };
    expect(fieldsOf(await platform().refused("CreateTag", request, "INVALID_ARGUMENT"))).toEqual(["digest"]);
  });

  test("lives under a repo", async () => {
    const tag = { name: "x", digest: digestOf(1) };
    for (const parent of [platform().root, freshUid(platform().root)]) {
      const status = await platform().refused("CreateTag", { parent, tag }, "NOT_FOUND");
      expect(detailOf(status)).toEqual({ resourceType: "registry.platform.internal/Repo", resourceName: parent });
    }
  });

  test("a list hides nothing unless told, family by family", async () => {
    const { uid: parent } = await makeRepo(platform(), platform().root);
    const names = {
      plain: ["latest", "1.0", "r1", "1-20x", "sha256x", "1-2024011", "1-rc1", "1-20240101-x"],
      referrers: [`sha256-${"0".repeat(64)}`, "sha256-x.sig"],
      dates: ["latest-20240101", "1-20261231"],
      epochs: ["1.2.3-r0", "x-r12"],
    };
    for (const name of Object.values(names).flat()) await makeTag(platform(), parent, { name });
    const list = async (more: object) =>
      (await platform().read("ListTags", { uidp: { childrenOf: parent }, ...more })).tags.map(
        ({ name }: { name: string }) => name,
      );
    const { plain, referrers, dates, epochs } = names;
    const expectNames = async (more: object, ...families: string[][]) =>
      expect((await list(more)).sort()).toEqual([...plain, ...families.flat()].sort());
    await expectNames({}, referrers, dates, epochs);
    await expectNames({ includeReferrers: true, includeDates: true, includeEpochs: true }, referrers, dates, epochs);
    await expectNames({ excludeReferrers: true }, dates, epochs);
    await expectNames({ excludeDates: true }, referrers, epochs);
    await expectNames({ excludeEpochs: true }, referrers, dates);
    await expectNames({ excludeReferrers: true, excludeDates: true, excludeEpochs: true });
    await expectNames({ excludeReferrers: true, includeReferrers: true }, dates, epochs);
  });

  test("a name of two families is left out with either", async () => {
    const { uid: parent } = await makeRepo(platform(), platform().root);
    await makeTag(platform(), parent, { name: "sha256-x-r1" });
    await makeTag(platform(), parent, { name: "sha256-x-20240101" });
    const count = async (more: object) =>
      (await platform().read("ListTags", { uidp: { childrenOf: parent }, ...more })).totalCount;
    expect(await count({})).toBe("2");
    expect(await count({ excludeReferrers: true })).toBe("0");
    expect(await count({ excludeEpochs: true })).toBe("1");
    expect(await count({ excludeDates: true })).toBe("1");
  });

  test("lists by digest and by time of update", async () => {
    const { uid: parent } = await makeRepo(platform(), platform().root);
    const old = await makeTag(platform(), parent, { name: "old", digest: digestOf(1) });
    const same = await makeTag(platform(), parent, { name: "same", digest: digestOf(1) });
    let young = await makeTag(platform(), parent, { name: "young", digest: digestOf(2) });
    while (young.updateTime === same.updateTime) {
      await platform().ok("DeleteTag", { uid: young.uid });
      young = await makeTag(platform(), parent, { name: "young", digest: digestOf(2) });
    }
    const by = async (more: object) =>
      (await platform().read("ListTags", { uidp: { childrenOf: parent }, ...more })).tags.map(
        ({ name }: { name: string }) => name,
      );
    expect((await by({ digest: digestOf(1) })).sort()).toEqual(["old", "same"]);
    expect(await by({ digest: digestOf(9) })).toEqual([]);
    expect(await by({ updatedSince: same.updateTime })).toEqual(["young"]);
    expect(await by({ updatedSince: young.updateTime })).toEqual([]);
    expect(await by({ updatedSince: "9999-12-31T23:59:59.999Z" })).toEqual([]);
    expect(await by({ updatedSince: "0001-01-01T00:00:00.000Z" })).toHaveLength(3);
    expect(await by({ updatedSince: "2020-01-01T00:00:00.000Z" })).toHaveLength(3);
    expect(await by({ updatedSince: "2020-01-01T00:00:00.000Z", digest: digestOf(2), name: "young" })).toEqual([
      "young",
    ]);
    expect(old.uid).not.toBe(same.uid);
  });

  test("a tag of the whole organisation is below its groups", async () => {
    const { uid: group } = await makeGroup(platform());
    const repo = await makeRepo(platform(), group);
    const tag = await makeTag(platform(), repo.uid);
    expect((await platform().read("ListTags", { uidp: { descendantsOf: group } })).tags).toEqual([tag]);
    expect((await platform().read("ListTags", { uidp: { childrenOf: group } })).tags).toEqual([]);
  });
});
