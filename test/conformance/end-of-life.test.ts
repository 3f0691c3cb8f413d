/** The end of life of tags: one truth in v1 and v2. */
import { expect, test } from "vitest";
import { saveProduct } from "../../src/services/index.ts";
import type { Json } from "./contract.ts";
import { digestOf, freshName, makeGroup, makeRepo, makeTag } from "./fixtures.ts";
import { onEveryServer, protocols } from "./platform.ts";

const day = 24 * 60 * 60 * 1000;
const dateIn = (days: number) => new Date(Date.now() + days * day).toISOString().slice(0, 10);

onEveryServer("the end of life of a tag", (platform) => {
  const cycle = { releaseDate: "2020-01-01", isEol: false, isLts: false, ltsDate: "", latest: "" };

  async function importProduct(name: string, dates: Readonly<Record<string, string>>): Promise<void> {
    const cycles = Object.entries(dates).map(([version, eolDate]) => ({ ...cycle, version, eolDate }));
    await platform().write((session) => saveProduct(session, { name, cycles }, Date.now()));
  }

  async function makeProduct(dates: Readonly<Record<string, string>>) {
    const name = freshName("product");
    const { uid: repo } = await makeRepo(platform(), (await makeGroup(platform(), "")).uid, {
      name: `library/${name}`,
    });
    await importProduct(name, dates);
    return { name, repo };
  }

  /** What v1 says of the tags of a repo, by name. */
  async function statesOf(repo: string): Promise<Json> {
    const { items } = await platform().read("v1.Registry.ListEolTags", { uidp: { childrenOf: repo } });
    return Object.fromEntries(items.map(({ name, tagStatus, graceStatus }: Json) => [name, [tagStatus, graceStatus]]));
  }

  test("is that of its version, in v1 and v2 alike", async () => {
    const { repo } = await makeProduct({ "4": dateIn(30), "3": dateIn(-30), "2": dateIn(-300) });
    for (const name of ["4", "3", "2", "other"]) await makeTag(platform(), repo, { name });
    await makeTag(platform(), repo, { name: "4.1", deprecated: true });
    await makeTag(platform(), repo, { name: "set", deprecated: true });
    const { tags } = await platform().read("ListTags", { uidp: { childrenOf: repo } });
    const deprecated = Object.fromEntries(tags.map((tag: Json) => [tag.name, tag.deprecated]));
    expect(deprecated).toEqual({ "4": false, "4.1": true, "3": true, "2": true, other: false, set: true });
    const ofV1 = await platform().read("v1.Registry.ListTags", { uidp: { childrenOf: repo } });
    expect(Object.fromEntries(ofV1.items.map((tag: Json) => [tag.name, tag.deprecated]))).toEqual(deprecated);
    expect(await statesOf(repo)).toEqual({
      "4": ["TAG_ACTIVE", "GRACE_ELIGIBLE"],
      "4.1": ["TAG_INACTIVE", "GRACE_NOT_ELIGIBLE"],
      "3": ["TAG_IN_GRACE", "GRACE_ACTIVE"],
      "2": ["TAG_INACTIVE", "GRACE_EXPIRED"],
      other: ["TAG_ACTIVE", "GRACE_NOT_ELIGIBLE"],
      set: ["TAG_INACTIVE", "GRACE_NOT_ELIGIBLE"],
    });
    for (const tag of tags) {
      for (const over of protocols) expect(await platform().ok("GetTag", { uid: tag.uid }, { over })).toEqual(tag);
      expect((await platform().ok("BatchGetTags", { uids: [tag.uid] })).tags).toEqual([tag]);
    }
  });

  test("changes the etag on its day, and neither the time of update nor the events", async () => {
    const { name, repo } = await makeProduct({ "1": dateIn(30) });
    const before = await makeTag(platform(), repo, { name: "1", digest: digestOf(1) });
    const path = `/registry/v2/tags/${before.uid}`;
    const isCurrent = async (etag: string) =>
      (await platform().fetch(path, { headers: { "if-none-match": etag } })).status === 304;
    expect(await isCurrent(before.etag)).toBe(true);
    await importProduct(name, { "1": dateIn(-1) });
    const after = await platform().ok("GetTag", { uid: before.uid });
    expect(after).toEqual({ ...before, deprecated: true, etag: expect.any(String) });
    expect(after.etag).not.toBe(before.etag);
    expect([await isCurrent(before.etag), await isCurrent(after.etag)]).toEqual([false, true]);
    await importProduct(name, { "1": dateIn(30) }); // a wrong date is corrected
    expect(await platform().ok("GetTag", { uid: before.uid })).toEqual(before);
    await importProduct(name, { "1": dateIn(-1) });
    const moved = await makeTag(platform(), repo, { name: "1", digest: digestOf(2) });
    expect(moved).toMatchObject({ uid: before.uid, deprecated: true, digest: digestOf(2) });
    await importProduct(name, {});
    expect(await platform().ok("GetTag", { uid: before.uid })).toMatchObject({ deprecated: false }); // none was set
  });

  test("is not an obstacle to a deletion with the etag that was read", async () => {
    const { repo } = await makeProduct({ "1": dateIn(-1) });
    const { uid, etag } = await makeTag(platform(), repo, { name: "1" });
    const path = `/registry/v2/tags/${uid}`;
    const stale = etag.replace(/\d+-/, "1-");
    expect((await platform().fetch(path, { method: "DELETE", headers: { "if-match": stale } })).status).toBe(409);
    expect((await platform().fetch(path, { method: "DELETE", headers: { "if-match": etag } })).status).toBe(200);
  });
});
