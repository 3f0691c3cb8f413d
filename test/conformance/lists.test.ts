/** Lists: pages, tokens, orders, totals, hierarchy filters, scopes. */
import { randomBytes } from "node:crypto";
import http2 from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test } from "vitest";
import { ListReposRequestSchema } from "../../gen/platform/registry/v2/repos_pb.ts";
import { createPageTokens } from "../../src/resource/index.ts";
import type { Json } from "./contract.ts";
import {
  bind,
  builtInRole,
  digestOf,
  freshUid,
  makeGroup,
  makeIdentity,
  makeMember,
  makeRepo,
  makeRole,
  makeTag,
} from "./fixtures.ts";
import { fieldsOf } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";

const namesOf = ({ repos }: Json): string[] => repos.map(({ name }: Json) => name);
const uidsOf = (items: Json[]): string[] => items.map(({ uid }) => uid);

onEveryServer("pages", (platform) => {
  const size = 205;
  let shelf: string;
  /** Names in ascending order. */
  const names = Array.from({ length: size }, (_, i) => `repo-${String(i).padStart(3, "0")}`);

  beforeAll(async () => {
    shelf = (await makeGroup(platform())).uid;
    for (let i = 0; i < size; i += 41)
      await Promise.all(names.slice(i, i + 41).map((name) => makeRepo(platform(), shelf, { name })));
  });

  const list = (more: Json = {}): Promise<Json> =>
    platform().read("ListRepos", { uidp: { descendantsOf: shelf }, orderBy: "name", ...more });

  test.each([
    [{}, 50],
    [{ pageSize: 0 }, 50],
    [{ pageSize: 1 }, 1],
    [{ pageSize: 200 }, 200],
    [{ pageSize: 201 }, 200],
    [{ pageSize: 2147483647 }, 200],
  ])("%j gives %i", async (more, count) => {
    const page = await list(more);
    expect(namesOf(page)).toEqual(names.slice(0, count));
    expect(page).toMatchObject({
      totalCount: String(size),
      skipped: 0,
      nextPageToken: expect.stringMatching(/^[\w-]+$/),
    });
  });

  test.each([
    [{ pageSize: -1 }, ["page_size"]],
    [{ skip: -1 }, ["skip"]],
    [{ pageSize: -1, skip: -2 }, ["page_size", "skip"]],
  ])("%j is refused", async (more, fields) => {
    expect(fieldsOf(await platform().refused("ListRepos", more, "INVALID_ARGUMENT"))).toEqual(fields);
  });

  test("next_page_token is absent on the last page, total_count and skipped never", async () => {
    const page = await list({ skip: 200 });
    expect(page).toEqual({ repos: page.repos, totalCount: String(size), skipped: 200 });
    expect(namesOf(page)).toEqual(names.slice(200));
    const full = await list({ skip: 200, pageSize: 5 });
    expect(full.nextPageToken).toBeUndefined();
  });

  test("skip goes past the end without error", async () => {
    expect(await list({ skip: 1000 })).toEqual({ repos: [], totalCount: String(size), skipped: 1000 });
    expect(await list({ skip: 2147483647 })).toMatchObject({ repos: [], skipped: 2147483647 });
  });

  test("page_size 5 and skip 10 start at the eleventh", async () => {
    const page = await list({ pageSize: 5, skip: 10 });
    expect(namesOf(page)).toEqual(names.slice(10, 15));
    expect(page.skipped).toBe(10);
  });

  test.each([7, 50, 100, 200])("pages of %i make the whole, once each, in order", async (pageSize) => {
    const seen: string[] = [];
    for (let pageToken: string | undefined, i = 0; i === 0 || pageToken !== undefined; i++) {
      const page = await platform().ok(
        "ListRepos",
        { uidp: { descendantsOf: shelf }, orderBy: "name desc", pageSize, pageToken },
        { over: protocols[i % 3]! },
      );
      expect(page.totalCount).toBe(String(size));
      seen.push(...namesOf(page));
      pageToken = page.nextPageToken;
    }
    expect(seen).toEqual([...names].reverse());
  });

  test("a token alone continues its query, whatever was filtered and ordered", async () => {
    const first = await list({ pageSize: 3, orderBy: "name desc" });
    const { nextPageToken: pageToken } = first;
    const second = await platform().read("ListRepos", { pageToken, pageSize: 4 });
    expect(namesOf(second)).toEqual(names.slice(-7, -3).reverse());
    expect(second.totalCount).toBe(String(size));
    const third = await platform().read("ListRepos", { pageToken: second.nextPageToken, pageSize: 2 });
    expect(namesOf(third)).toEqual(names.slice(-9, -7).reverse());
  });

  test("what a token stands for may be repeated, in any spelling", async () => {
    const { nextPageToken: pageToken } = await list({ pageSize: 3, orderBy: "name desc, created_at" });
    for (const orderBy of ["name desc, created_at", "name  DESC,createTime asc", "name desc,create_time"])
      expect(namesOf(await list({ pageSize: 1, pageToken, orderBy }))).toEqual(names.slice(-4, -3));
  });

  test("skip counts from the token", async () => {
    const { nextPageToken: pageToken } = await list({ pageSize: 10 });
    const page = await list({ pageSize: 2, pageToken, skip: 5 });
    expect(namesOf(page)).toEqual(names.slice(15, 17));
    expect(page.skipped).toBe(5);
  });

  test("other filters, another order, another method: refused", async () => {
    const { nextPageToken: pageToken } = await list({ pageSize: 3 });
    for (const [method, request] of [
      ["ListRepos", { orderBy: "name desc" }],
      ["ListRepos", { orderBy: "uid" }],
      ["ListRepos", { name: "repo-000" }],
      ["ListRepos", { uidp: { descendantsOf: platform().root } }],
      ["ListRepos", { uidp: { childrenOf: shelf } }],
      ["ListTags", {}],
      ["ListGroups", {}],
    ] as const) {
      const status = await platform().refused(method, { ...request, pageToken }, "INVALID_ARGUMENT");
      expect(fieldsOf(status)).toEqual(["page_token"]);
    }
  });

  test("damaged and forged tokens are refused", async () => {
    const { nextPageToken: token } = await list({ pageSize: 3 });
    const forged = createPageTokens(randomBytes(32)).seal({
      method: "platform.registry.v2.ReposService.ListRepos",
      after: [freshUid()],
      issueTimeMs: Date.now(),
      query: { encoded: new Uint8Array() },
    });
    const flipped = [0, 10, 20, 40, token.length - 1].map(
      (i) => token.slice(0, i) + (token[i] === "A" ? "B" : "A") + token.slice(i + 1),
    );
    const damaged = [
      "x",
      "not base64 !",
      token.slice(0, -4),
      `${token}AAAA`,
      `${token}=`,
      token.slice(1),
      forged,
      ...flipped,
    ];
    for (const pageToken of damaged) {
      const status = await platform().refused("ListRepos", { pageToken }, "INVALID_ARGUMENT");
      expect(fieldsOf(status), pageToken).toEqual(["page_token"]);
    }
  });

  test("rows that come and go between pages neither repeat nor hide one that stays", async () => {
    const { uid: parent } = await makeGroup(platform());
    const stays = Array.from({ length: 9 }, (_, i) => `m${i}`);
    for (const name of stays) await makeRepo(platform(), parent, { name });
    const gone = await makeRepo(platform(), parent, { name: "m00" });
    const seen: string[] = [];
    let pageToken: string | undefined;
    for (let i = 0; ; i++) {
      const page = await platform().ok("ListRepos", {
        uidp: { childrenOf: parent },
        orderBy: "name",
        pageSize: 2,
        pageToken,
      });
      seen.push(...namesOf(page));
      pageToken = page.nextPageToken;
      if (pageToken === undefined) break;
      if (i === 0) await platform().ok("DeleteRepo", { uid: gone.uid });
      await makeRepo(platform(), parent, { name: `a${i}` });
      await makeRepo(platform(), parent, { name: `z${i}` });
    }
    for (const name of stays)
      expect(
        seen.filter((other) => other === name),
        name,
      ).toHaveLength(1);
    expect(seen).toEqual([...seen].sort());
  });

  test("a token grants nothing: the scope is that of whoever shows it", async () => {
    const { nextPageToken: pageToken } = await list({ pageSize: 3 });
    const nobody = await platform().token((await makeIdentity(platform(), platform().root)).uid);
    expect(await platform().read("ListRepos", { pageToken }, { as: nobody })).toEqual({
      repos: [],
      totalCount: "0",
      skipped: 0,
    });
  });

  test("a query over 2 KiB is repeated beside its token", async () => {
    const ids = [...Array.from({ length: 60 }, () => freshUid(shelf)), ...uidsOf((await list({ pageSize: 4 })).repos)];
    const query = { uidp: { ids }, orderBy: "name" };
    const first = await platform().ok("ListRepos", { ...query, pageSize: 2 }, { over: "grpc" });
    expect(first.totalCount).toBe("4");
    const second = await platform().ok("ListRepos", { ...query, pageToken: first.nextPageToken }, { over: "grpc" });
    expect(namesOf(second)).toEqual(names.slice(2, 4));
    const alone = await platform().refused("ListRepos", { pageToken: first.nextPageToken }, "INVALID_ARGUMENT");
    expect(fieldsOf(alone)).toEqual(["page_token"]);
  });
});

const pageTokenKey = randomBytes(32);

onEveryServer(
  "page tokens that age",
  (platform) => {
    const tokens = createPageTokens(pageTokenKey);

    /** The trailing metadata of gRPC. */
    function trailersOf(pageToken: string): Promise<http2.IncomingHttpHeaders> {
      const session = http2.connect(platform().baseUrl);
      const message = toBinary(ListReposRequestSchema, create(ListReposRequestSchema, { pageToken }));
      return new Promise((resolve, reject) => {
        const stream = session.request({
          ":method": "POST",
          ":path": "/platform.registry.v2.ReposService/ListRepos",
          authorization: `Bearer ${platform().admin}`,
          "content-type": "application/grpc",
          te: "trailers",
        });
        stream
          .on("trailers", resolve)
          .on("error", reject)
          .on("close", () => session.close());
        stream
          .resume()
          .end(Buffer.concat([Buffer.from([0, 0, 0, message.length >> 8, message.length & 255]), message]));
      });
    }

    const day = 24 * 60 * 60 * 1000;

    test("after three days the query restarts from its beginning, without error", async () => {
      const { uid: parent } = await makeGroup(platform());
      for (const name of ["a", "b", "c", "d"]) await makeRepo(platform(), parent, { name });
      const first = await platform().ok("ListRepos", {
        uidp: { childrenOf: parent },
        orderBy: "name desc",
        pageSize: 1,
      });
      const opened = tokens.open(first.nextPageToken)!;
      const aged = (ms: number) => tokens.seal({ ...opened, issueTimeMs: Date.now() - ms });
      const namesAfter = async (pageToken: string) =>
        namesOf(await platform().read("ListRepos", { pageToken, pageSize: 2 }));
      expect(await namesAfter(aged(0))).toEqual(["c", "b"]);
      expect(await namesAfter(aged(3 * day - 30_000))).toEqual(["c", "b"]); // less than the minute it is rounded to
      expect(await namesAfter(aged(3 * day + 60_000))).toEqual(["d", "c"]);
      expect(await namesAfter(aged(300 * day))).toEqual(["d", "c"]);
      for (const [ms, isRestarted] of [
        [0, null],
        [4 * day, "true"],
      ] as const) {
        const pageToken = aged(ms);
        const response = await platform().fetch(`/registry/v2/repos?page_token=${pageToken}`);
        expect(response.headers.get("x-page-restarted")).toBe(isRestarted);
        expect((await trailersOf(pageToken))["x-page-restarted"]).toBe(isRestarted ?? undefined);
      }
      const other = { pageToken: aged(4 * day), orderBy: "name asc" };
      expect(fieldsOf(await platform().refused("ListRepos", other, "INVALID_ARGUMENT"))).toEqual(["page_token"]);
    });
  },
  { pageTokenKey },
);

onEveryServer("page tokens and restarts", (platform) => {
  test("survive one, whatever the address", async () => {
    const { uid: parent } = await makeGroup(platform());
    for (const name of ["a", "b", "c"]) await makeRepo(platform(), parent, { name });
    const first = await platform().ok("ListRepos", { uidp: { childrenOf: parent }, orderBy: "name", pageSize: 1 });
    await platform().restart();
    const rest = await platform().read("ListRepos", { pageToken: first.nextPageToken });
    expect(namesOf(rest)).toEqual(["b", "c"]);
  });
});

onEveryServer("orders", (platform) => {
  let parent: string;
  let byTime: Json[];

  beforeAll(async () => {
    parent = (await makeGroup(platform())).uid;
    byTime = [];
    for (const name of ["b", "a", "d", "c"]) {
      const repo = await makeRepo(platform(), parent, { name });
      byTime.push(repo);
      while (Date.now() <= Date.parse(repo.createTime)) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  });

  const order = async (orderBy: string) =>
    namesOf(await platform().read("ListRepos", { uidp: { childrenOf: parent }, orderBy }));

  test.each([
    ["name", "abcd"],
    ["name asc", "abcd"],
    ["name desc", "dcba"],
    ["  name   desc ", "dcba"],
    ["name DESC", "dcba"],
    ["created_at", "badc"],
    ["created_at desc", "cdab"],
    ["create_time", "badc"],
    ["createTime desc", "cdab"],
    ["updated_at", "badc"],
    ["update_time desc", "cdab"],
    ["updateTime asc", "badc"],
    ["name,created_at desc", "abcd"],
    ["created_at desc , name asc", "cdab"],
  ])("%j", async (orderBy, expected) => {
    expect((await order(orderBy)).join("")).toBe(expected);
  });

  test("by uid, which is the default", async () => {
    const byUid = [...byTime].sort((a, b) => (a.uid < b.uid ? -1 : 1)).map(({ name }) => name);
    expect(await order("")).toEqual(byUid);
    expect(await order("uid")).toEqual(byUid);
    expect(await order("uid desc")).toEqual(byUid.reverse());
  });

  test("the space of a query is %20 or +", async () => {
    for (const space of ["%20", "+"]) {
      const response = await platform().fetch(
        `/registry/v2/repos?uidp.children_of=${parent}&order_by=name${space}desc`,
      );
      expect(namesOf(await response.json()).join("")).toBe("dcba");
    }
  });

  test.each([
    "description",
    "nope",
    "name up",
    "name asc desc",
    "name,",
    ",",
    "name;uid",
    "name, name desc",
    "create_time_us",
    "Name",
  ])("%j is refused", async (orderBy) => {
    expect(fieldsOf(await platform().refused("ListRepos", { orderBy }, "INVALID_ARGUMENT"))).toEqual(["order_by"]);
  });

  test("names sort by their bytes, ties by uid", async () => {
    const { uid } = await makeGroup(platform());
    const given = ["a b", "a-b", "a.b", "a0", "aa", "ab", "b", "_", "0", "aa"];
    for (const name of given) await makeGroup(platform(), uid, { name });
    const { groups } = await platform().read("ListGroups", { uidp: { childrenOf: uid }, orderBy: "name" });
    expect(groups.map(({ name }: Json) => name)).toEqual([...given].sort());
    const twins = uidsOf(groups.filter(({ name }: Json) => name === "aa"));
    expect(twins).toEqual([...twins].sort());
    const walked: string[] = [];
    for (let pageToken: string | undefined, i = 0; i === 0 || pageToken !== undefined; i++) {
      const page = await platform().ok("ListGroups", {
        uidp: { childrenOf: uid },
        orderBy: "name",
        pageSize: 1,
        pageToken,
      });
      walked.push(...uidsOf(page.groups));
      pageToken = page.nextPageToken;
    }
    expect(walked).toEqual(uidsOf(groups));
  });

  test.each(["ListGroups", "ListIdentities", "ListRoles", "ListRepos", "ListTags"])(
    "%s sorts by every common name",
    async (method) => {
      for (const field of ["name", "uid", "created_at", "updated_at"])
        await platform().read(method, { orderBy: `${field} desc`, pageSize: 2 });
    },
  );

  test("bindings have no name to sort by", async () => {
    await platform().read("ListRoleBindings", { orderBy: "created_at desc" });
    const status = await platform().refused("ListRoleBindings", { orderBy: "name" }, "INVALID_ARGUMENT");
    expect(fieldsOf(status)).toEqual(["order_by"]);
  });
});

onEveryServer("hierarchy filters and scopes", (platform) => {
  /** top > middle > bottom, beside it aside; a repo in each, a tag in each repo. */
  let top: string;
  let middle: string;
  let bottom: string;
  let aside: string;
  const repos: Record<string, Json> = {};
  const tags: Record<string, Json> = {};

  beforeAll(async () => {
    top = (await makeGroup(platform())).uid;
    middle = (await makeGroup(platform(), top)).uid;
    bottom = (await makeGroup(platform(), middle)).uid;
    aside = (await makeGroup(platform())).uid;
    for (const [name, group] of Object.entries({ top, middle, bottom, aside })) {
      repos[name] = await makeRepo(platform(), group, { name });
      tags[name] = await makeTag(platform(), repos[name].uid, { name, digest: digestOf(1) });
    }
  });

  const reposBy = async (uidp: Json, as = platform().admin) => {
    const page = await platform().read("ListRepos", { uidp, orderBy: "name" }, { as });
    expect(page.totalCount).toBe(String(page.repos.length));
    return namesOf(page);
  };

  test("descendants_of: below at any depth, itself left out", async () => {
    expect(await reposBy({ descendantsOf: top })).toEqual(["bottom", "middle", "top"]);
    expect(await reposBy({ descendantsOf: bottom })).toEqual(["bottom"]);
    expect(await reposBy({ descendantsOf: repos.top.uid })).toEqual([]);
    const { groups } = await platform().read("ListGroups", { uidp: { descendantsOf: top } });
    expect(uidsOf(groups)).toEqual([middle, bottom]);
  });

  test("children_of: the parent is exactly that", async () => {
    expect(await reposBy({ childrenOf: top })).toEqual(["top"]);
    expect(await reposBy({ childrenOf: middle })).toEqual(["middle"]);
    const { tags: found } = await platform().read("ListTags", { uidp: { childrenOf: repos.middle.uid } });
    expect(found).toEqual([tags.middle]);
  });

  test("ancestors_of: on the way up, itself left out", async () => {
    const { groups } = await platform().read("ListGroups", { uidp: { ancestorsOf: repos.bottom.uid } });
    expect(uidsOf(groups)).toEqual([platform().root, top, middle, bottom]);
    expect(uidsOf((await platform().read("ListGroups", { uidp: { ancestorsOf: middle } })).groups)).toEqual([
      platform().root,
      top,
    ]);
    expect(await reposBy({ ancestorsOf: tags.bottom.uid })).toEqual(["bottom"]);
    expect((await platform().read("ListGroups", { uidp: { ancestorsOf: platform().root } })).groups).toEqual([]);
  });

  test("in_root: what stands alone", async () => {
    const { groups } = await platform().read("ListGroups", { uidp: { inRoot: true } });
    expect(uidsOf(groups)).toEqual([platform().root]);
    expect(await reposBy({ inRoot: true })).toEqual([]);
    const { identities } = await platform().read("ListIdentities", { uidp: { inRoot: true } });
    expect(uidsOf(identities)).toEqual([platform().administrator]);
    expect((await reposBy({ inRoot: false })).length).toBeGreaterThan(3);
  });

  test("ids: exactly those, in any number", async () => {
    expect(await reposBy({ ids: [repos.top.uid] })).toEqual(["top"]);
    expect(await reposBy({ ids: [repos.top.uid, repos.aside.uid, freshUid(top), repos.top.uid] })).toEqual([
      "aside",
      "top",
    ]);
    expect(await reposBy({ ids: [top] })).toEqual([]);
  });

  test("several hold together", async () => {
    expect(await reposBy({ descendantsOf: top, ids: [repos.middle.uid, repos.aside.uid] })).toEqual(["middle"]);
    expect(await reposBy({ descendantsOf: top, childrenOf: middle })).toEqual(["middle"]);
    expect(await reposBy({ descendantsOf: middle, childrenOf: top })).toEqual([]);
    expect(await reposBy({ childrenOf: top, inRoot: true })).toEqual([]);
    expect(await reposBy({ ancestorsOf: tags.top.uid, ids: [repos.top.uid] })).toEqual(["top"]);
    expect(await reposBy({ ancestorsOf: tags.top.uid, ids: [repos.middle.uid] })).toEqual([]);
    expect(
      await reposBy({ descendantsOf: top, ancestorsOf: tags.bottom.uid, childrenOf: bottom, ids: [repos.bottom.uid] }),
    ).toEqual(["bottom"]);
    const { totalCount } = await platform().read("ListRepos", { uidp: { descendantsOf: top }, name: "aside" });
    expect(totalCount).toBe("0");
  });

  test.each(["descendantsOf", "childrenOf", "ancestorsOf", "ids"])(
    "%s: no uid is refused, an unknown one gives nothing",
    async (key) => {
      const value = (uid: string) => ({ uidp: { [key]: key === "ids" ? [uid] : uid } });
      const snake = key.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`);
      for (const wrong of ["x", "/", top.toUpperCase(), `${top}/`, `${top}/1`]) {
        const status = await platform().refused("ListRepos", value(wrong), "INVALID_ARGUMENT");
        expect(fieldsOf(status)).toEqual([key === "ids" ? "uidp.ids[0]" : `uidp.${snake}`]);
      }
      for (const unknown of [freshUid(), freshUid(top)])
        expect(await platform().read("ListRepos", value(unknown))).toEqual({ repos: [], totalCount: "0", skipped: 0 });
    },
  );

  test("without a filter, all that the caller may list, and no more with one", async () => {
    const viewer = await builtInRole(platform(), "viewer");
    const { uid } = await makeIdentity(platform(), platform().root);
    const as = await platform().token(uid);
    expect(await reposBy({}, as)).toEqual([]);
    await bind(platform(), middle, uid, viewer);
    expect(await reposBy({}, as)).toEqual(["bottom", "middle"]);
    expect(await reposBy({ descendantsOf: top }, as)).toEqual(["bottom", "middle"]);
    expect(await reposBy({ descendantsOf: bottom }, as)).toEqual(["bottom"]);
    expect(await reposBy({ childrenOf: top }, as)).toEqual([]);
    expect(await reposBy({ descendantsOf: aside }, as)).toEqual([]);
    expect(await reposBy({ ids: [repos.aside.uid, repos.middle.uid] }, as)).toEqual(["middle"]);
    await bind(platform(), aside, uid, viewer);
    await bind(platform(), bottom, uid, viewer);
    expect(await reposBy({}, as), "grants that overlap count once").toEqual(["aside", "bottom", "middle"]);
    const { groups } = await platform().read("ListGroups", {}, { as });
    expect(uidsOf(groups)).toEqual([aside, middle, bottom].sort());
  });

  test("pages and totals are those of the caller's scope", async () => {
    const { token: as, uid } = await makeMember(platform(), platform().root, "viewer", aside);
    await bind(platform(), middle, uid, await builtInRole(platform(), "viewer"));
    const first = await platform().read("ListRepos", { pageSize: 2, orderBy: "name" }, { as });
    expect([namesOf(first), first.totalCount]).toEqual([["aside", "bottom"], "3"]);
    const second = await platform().read("ListRepos", { pageToken: first.nextPageToken }, { as });
    expect([namesOf(second), second.totalCount, second.nextPageToken]).toEqual([["middle"], "3", undefined]);
  });

  test("a grant on one repo's group shows its tags, not its neighbours'", async () => {
    const { token: as } = await makeMember(platform(), platform().root, ["CAP_TAG_LIST"], bottom);
    expect((await platform().read("ListTags", {}, { as })).tags).toEqual([tags.bottom]);
    expect((await platform().read("ListRepos", {}, { as })).repos).toEqual([]);
  });

  describe("totals", () => {
    test("are exact after every change", async () => {
      const { uid } = await makeGroup(platform());
      const total = async () =>
        (await platform().read("ListRepos", { uidp: { descendantsOf: uid }, pageSize: 1 })).totalCount;
      expect(await total()).toBe("0");
      const made = await Promise.all(
        Array.from({ length: 12 }, (_, i) => makeRepo(platform(), uid, { name: `r${i}` })),
      );
      expect(await total()).toBe("12");
      await platform().call("CreateRepo", { parent: uid, repo: { name: "r1" } });
      await platform().ok("CreateRepo", { parent: uid, repo: { name: "v" }, validateOnly: true });
      expect(await total()).toBe("12");
      await Promise.all(made.slice(0, 5).map((repo) => platform().ok("DeleteRepo", { uid: repo.uid })));
      expect(await total()).toBe("7");
    });

    test("count public and own roles once", async () => {
      const { uid } = await makeGroup(platform());
      const { token: as } = await makeMember(platform(), platform().root, ["CAP_IAM_ROLES_LIST"], uid);
      await makeRole(platform(), uid, ["CAP_REPO_LIST"]);
      const page = await platform().read("ListRoles", { pageSize: 200 }, { as });
      expect(page.totalCount).toBe(String(page.roles.length));
      expect(new Set(uidsOf(page.roles)).size).toBe(page.roles.length);
    });
  });

  test("query names come in both spellings, nested by a dot, repeated by repeating", async () => {
    const ids = `uidp.ids=${encodeURIComponent(repos.top.uid)}&uidp.ids=${repos.middle.uid}`;
    for (const query of [
      `${ids}&order_by=name&page_size=5`,
      `${ids}&orderBy=name&pageSize=5`,
      `${ids}&uidp.descendants_of=${top}&orderBy=name`,
      `${ids}&uidp.descendantsOf=${top}&order_by=name`,
    ]) {
      const response = await platform().fetch(`/registry/v2/repos?${query}`);
      expect(namesOf(await response.json())).toEqual(["middle", "top"]);
    }
  });
});
