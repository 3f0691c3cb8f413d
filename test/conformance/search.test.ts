/** The search for resources of several types by the beginning of their names. */
import { create } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test } from "vitest";
import { GroupSchema } from "../../gen/platform/iam/v2/groups_pb.ts";
import { contentOf, newRow } from "../../src/resource/index.ts";
import { groups } from "../../src/services/iam/groups.ts";
import type { Json } from "./contract.ts";
import {
  freshName,
  freshUid,
  insertIdentity,
  type Member,
  makeGroup,
  makeIdentity,
  makeMember,
  makeRepo,
  makeRole,
  makeTag,
  makeUser,
} from "./fixtures.ts";
import { methodFixtures } from "./method-fixtures.ts";
import { fieldsOf } from "./outcome.ts";
import { onEveryServer, type Platform } from "./platform.ts";

const typeOf = {
  association: "iam.platform.internal/AccountAssociation",
  group: "iam.platform.internal/Group",
  identity: "iam.platform.internal/Identity",
  provider: "iam.platform.internal/IdentityProvider",
  role: "iam.platform.internal/Role",
  repo: "registry.platform.internal/Repo",
  tag: "registry.platform.internal/Tag",
} as const;

onEveryServer("a search for names", (platform) => {
  const search = (request: Json, as = platform().admin) => platform().read("SearchNames", request, { as });
  const namesOf = ({ results }: Json): string[] => results.map(({ name }: Json) => name);
  const found = async (request: Json, as?: string) => namesOf(await search(request, as));

  describe("over all types", () => {
    const word = freshName();
    let place: string;
    let all: Json[];

    beforeAll(async () => {
      place = (await makeGroup(platform(), "")).uid;
      all = await makeOneOfEach(platform(), place, word);
    });

    test("finds what begins with the prefix, by name and then by type", async () => {
      expect((await search({ prefix: word })).results).toEqual(all);
      expect((await search({ prefix: `${word}-1` })).results).toEqual([all.at(-1)]);
      expect(await search({ prefix: `${word}-2` })).toEqual({ results: [], totalCount: "0", skipped: 0 });
    });

    test("is of the given types", async () => {
      for (const type of Object.values(typeOf))
        expect((await search({ prefix: word, types: [type] })).results, type).toEqual(
          all.filter((result) => result.type === type),
        );
      const types = [typeOf.tag, typeOf.group, typeOf.group];
      expect((await search({ prefix: word, types })).results.map(({ type }: Json) => type)).toEqual([
        typeOf.group,
        typeOf.tag,
        typeOf.group,
      ]);
    });

    test("comes in pages", async () => {
      for (const pageSize of [1, 2, 3, all.length]) {
        const paged: Json[] = [];
        let pageToken: string | undefined = "";
        while (pageToken !== undefined) {
          const page: Json = await search({ prefix: word, scope: place, pageSize, pageToken });
          expect(page.results.length).toBeLessThanOrEqual(pageSize);
          paged.push(...page.results);
          pageToken = page.nextPageToken;
        }
        expect(paged, `pages of ${pageSize}`).toEqual(all);
      }
    });

    test("continues with what the token says, and with nothing else", async () => {
      const query = { prefix: word, types: [typeOf.group, typeOf.repo], pageSize: 1 };
      const { nextPageToken: pageToken } = await search(query);
      expect((await search({ prefix: word, pageToken })).results).toEqual(
        all.filter(({ type }) => type === typeOf.group || type === typeOf.repo).slice(1),
      );
      for (const other of [
        { prefix: `${word}-` },
        { prefix: word, scope: place },
        { prefix: word, types: [typeOf.tag] },
      ])
        expect(fieldsOf(await platform().refused("SearchNames", { ...other, pageToken }, "INVALID_ARGUMENT"))).toEqual([
          "page_token",
        ]);
    });
  });

  test("finds no wildcards, and names in their case", async () => {
    const { uid } = await makeRepo(platform(), (await makeGroup(platform())).uid);
    const names = ["V1.0", "V1_0", "V10", "v1.0"];
    for (const name of names) await makeTag(platform(), uid, { name });
    const tags = (prefix: string) => found({ prefix, scope: uid });
    expect(await tags("V1")).toEqual(["V1.0", "V10", "V1_0"]);
    expect(await tags("V1_")).toEqual(["V1_0"]);
    expect(await tags("V1.")).toEqual(["V1.0"]);
    expect(await tags("v")).toEqual(["v1.0"]);
    for (const nothing of ["_", "%", "V1%", "V*", "V?", "^V", "'", '"', "V1'", "\\", " V", "V1.0 "])
      expect(await tags(nothing), nothing).toEqual([]);
  });

  test("compares characters of every script by their code points", async () => {
    const place = (await makeGroup(platform())).uid;
    const names = ["é'", 'é"%_', "éa", "é\u{fffd}", "é\u{1f600}", "é\u{1f600}b"];
    for (const [i, name] of names.entries())
      await (i % 2 === 0 ? insertGroup(platform(), place, name) : insertIdentity(platform(), place, name));
    const sorted = ['é"%_', "é'", "éa", "é\u{fffd}", "é\u{1f600}", "é\u{1f600}b"];
    expect(await found({ prefix: "é", scope: place })).toEqual(sorted);
    expect(await found({ prefix: "e", scope: place })).toEqual([]);
    expect(await found({ prefix: "É", scope: place })).toEqual([]);
    expect(await found({ prefix: "é'", scope: place })).toEqual(["é'"]);
    expect(await found({ prefix: 'é"%_', scope: place })).toEqual(['é"%_']);
    expect(await found({ prefix: "é\u{1f600}", scope: place })).toEqual(["é\u{1f600}", "é\u{1f600}b"]);
    const { nextPageToken } = await search({ prefix: "é", scope: place, pageSize: 3 });
    expect(await found({ prefix: "é", pageToken: nextPageToken })).toEqual(sorted.slice(3));
  });

  test("is of a scope and of what is below it", async () => {
    const word = freshName();
    const outer = (await makeGroup(platform(), platform().root, { name: word })).uid;
    const inner = (await makeGroup(platform(), outer, { name: `${word}-inner` })).uid;
    const repo = (await makeRepo(platform(), inner, { name: `${word}/repo` })).uid;
    await makeTag(platform(), repo, { name: `${word}.tag` });
    await makeGroup(platform(), platform().root, { name: `${word}-beside` });
    const within = (scope: string, as?: string) => found({ prefix: word, scope }, as);
    const below = [`${word}-inner`, `${word}.tag`, `${word}/repo`];
    expect(await within(platform().root)).toEqual([word, `${word}-beside`, ...below]);
    expect(await within(outer)).toEqual([word, ...below]);
    expect(await within(inner)).toEqual(below);
    expect(await within(repo)).toEqual([`${word}.tag`, `${word}/repo`]);
    expect(await within(freshUid())).toEqual([]);
    const member = await makeMember(platform(), inner, "viewer");
    expect(await within(outer, member.token)).toEqual(below);
    expect(await within(repo, member.token)).toEqual([`${word}.tag`, `${word}/repo`]);
  });

  describe("shows", () => {
    const word = freshName();
    let mine: string;
    let all: Json[];
    let stranger: Member;

    beforeAll(async () => {
      mine = (await makeGroup(platform(), "")).uid;
      all = await makeOneOfEach(platform(), mine, word);
      const theirs = (await makeGroup(platform(), "")).uid;
      await makeOneOfEach(platform(), theirs, word);
      stranger = await makeMember(platform(), theirs, ["CAP_AUDIT_LIST"]);
    });

    test("a member what is in its group", async () => {
      const member = await makeMember(platform(), mine, "owner");
      expect((await search({ prefix: word }, member.token)).results).toEqual(all);
    });

    test("what each List method shows, while it shows it", async () => {
      const member = await makeMember(platform(), mine, ["CAP_REPO_LIST", "CAP_IAM_GROUPS_LIST"]);
      const types = async () => (await search({ prefix: word }, member.token)).results.map(({ type }: Json) => type);
      expect(await types()).toEqual([typeOf.group, typeOf.repo, typeOf.group]);
      await platform().ok("UpdateRole", {
        role: { uid: member.roleUid, capabilities: ["CAP_TAG_LIST"] },
        updateMask: "capabilities",
      });
      expect(await types()).toEqual([typeOf.tag]);
      await platform().ok("DeleteRoleBinding", { uid: member.bindingUid });
      expect(await types()).toEqual([]);
    });

    test("nothing to a caller who may list nothing", async () => {
      for (const request of [{}, { scope: mine }, { types: [typeOf.group] }])
        expect(await search({ prefix: word, ...request }, stranger.token)).toEqual({
          results: [],
          totalCount: "0",
          skipped: 0,
        });
    });

    test("built-in roles to every caller, as their list does", async () => {
      const { roles } = await platform().read("ListRoles", { uidp: { inRoot: true } }, { as: stranger.token });
      const editors = roles.filter(({ name }: Json) => name.startsWith("edit"));
      expect(editors).toMatchObject([{ name: "editor" }]);
      const [{ uid }] = editors;
      expect((await search({ prefix: "edit" }, stranger.token)).results).toEqual([
        { type: typeOf.role, uid, name: "editor" },
      ]);
      expect(await found({ prefix: "edit", scope: uid }, stranger.token)).toEqual(["editor"]);
      expect(await found({ prefix: "edit", scope: mine }, stranger.token)).toEqual([]);
    });

    test("users to those who may list everywhere", async () => {
      const user = await makeUser(platform());
      const owner = await makeMember(platform(), mine, "owner");
      const query = { prefix: "jane d", scope: user.uid };
      expect((await search(query)).results).toEqual([{ type: typeOf.identity, uid: user.uid, name: "jane doe" }]);
      expect(await found(query, owner.token)).toEqual([]);
    });
  });

  test.each([
    ["an unknown type", { types: [typeOf.group, "iam.platform.internal/Nothing"] }, "types[1]"],
    ["a type without names", { types: ["iam.platform.internal/RoleBinding"] }, "types[0]"],
    ["an empty type", { types: [""] }, "types[0]"],
    ["an empty prefix", { prefix: "" }, "prefix"],
    ["a long prefix", { prefix: "n".repeat(256) }, "prefix"],
    ["an empty scope", { scope: "" }, "scope"],
    ["a scope that is not a uid", { scope: "platform" }, "scope"],
    ["a negative page size", { pageSize: -1 }, "page_size"],
    ["another token", { pageToken: "x" }, "page_token"],
  ])("refuses %s", async (_title, request, field) => {
    const status = await platform().refused("SearchNames", { prefix: "n", ...request }, "INVALID_ARGUMENT");
    expect(fieldsOf(status)).toEqual([field]);
  });

  test("needs a token", async () => {
    await platform().refused("SearchNames", { prefix: "n" }, "UNAUTHENTICATED", { as: null });
  });
});

/**
 * Makes a resource of each type with a name in an organisation, and a group with a longer one. @returns all, as found.
 */
async function makeOneOfEach(platform: Platform, organisation: string, name: string): Promise<Json[]> {
  const group = (await makeGroup(platform, organisation, { name })).uid;
  const repo = (await makeRepo(platform, group, { name })).uid;
  const make = async (method: string, resource: string) => {
    const request = await methodFixtures[method]!.request(platform, organisation);
    return (await platform.ok(method, { ...request, [resource]: { ...request[resource], name } })).uid;
  };
  const uids = {
    [typeOf.association]: await make("CreateAccountAssociation", "accountAssociation"),
    [typeOf.group]: group,
    [typeOf.identity]: (await makeIdentity(platform, group, { name })).uid,
    [typeOf.provider]: await make("CreateIdentityProvider", "identityProvider"),
    [typeOf.role]: (await makeRole(platform, group, ["CAP_REPO_LIST"], { name })).uid,
    [typeOf.repo]: repo,
    [typeOf.tag]: (await makeTag(platform, repo, { name })).uid,
  };
  const longer = await makeGroup(platform, organisation, { name: `${name}-1` });
  return [
    ...Object.values(typeOf).map((type) => ({ type, uid: uids[type], name })),
    { type: typeOf.group, uid: longer.uid, name: longer.name },
  ];
}

/** Inserts a group whose name no call accepts. */
function insertGroup(platform: Platform, parent: string, name: string) {
  const content = contentOf(groups, create(GroupSchema, { name }));
  return platform.write((session) => session.insert(groups.table, newRow(freshUid(parent), parent, 0, content)));
}
