/** The typed client, against a real server. */
import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import {
  type Advisory,
  type CallOptions,
  Code,
  createClientsOf,
  createPlatformClient,
  createPlatformTransport,
  type List,
  type ListReposResponse,
  type PlatformClient,
  PlatformError,
  type Repo,
  ReposService,
  type ResolvedVulnsReport,
  type RoleBinding,
  UpdateRepoRequestSchema,
} from "../../src/client/package.ts";
import { grpc } from "../../src/client-node/package.ts";
import { startWithFolder } from "../remote/server.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;
let client: PlatformClient;

beforeAll(async () => {
  server = await startWithFolder();
  client = createPlatformClient({ server: server.server, token: server.token });
});
afterAll(() => server.stop());

async function arrayOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const array: Item[] = [];
  for await (const item of items) array.push(item);
  return array;
}

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error as PlatformError,
  );

test("a resource is created, read, changed and deleted", async () => {
  const repo = await client.repos.create({ parent: server.root, repo: { name: "one" } });
  expect(repo).toMatchObject({ $typeName: "platform.registry.v2.Repo", name: "one" });
  expect(await client.repos.get(repo.uid)).toEqual(repo);
  expect(await client.repos.get({ uid: repo.uid })).toEqual(repo);
  const updated = await client.repos.update({
    repo: { uid: repo.uid, description: "Changed" },
    updateMask: { paths: ["description"] },
  });
  expect(updated).toMatchObject({ name: "one", description: "Changed" });
  await client.repos.delete({ uid: repo.uid, etag: updated.etag });
  expect(await failureOf(client.repos.get(repo.uid))).toMatchObject({ code: Code.NotFound, reason: "NOT_FOUND" });
});

describe.each([
  ["Connect", {}],
  ["gRPC", { transport: grpc }],
])("over %s", (protocol, over) => {
  const here = () => createPlatformClient({ server: server.server, token: server.token, ...over });

  test("the paths of an update mask may be in camel case", async () => {
    const repo = await here().repos.create({ parent: server.root, repo: { name: `masked-${protocol.toLowerCase()}` } });
    const updateMask = create(FieldMaskSchema, { paths: ["catalogTier", "description"] });
    const request = { repo: { uid: repo.uid, description: "Changed" }, updateMask };
    expect(await here().repos.update(request)).toMatchObject({ description: "Changed" });
    expect(await here().repos.update(create(UpdateRepoRequestSchema, request))).toMatchObject({ name: repo.name });
    expect(updateMask.paths).toEqual(["catalogTier", "description"]);
    const unknown = { ...request, updateMask: { paths: ["noSuchField"] } };
    expect(await failureOf(here().repos.update(unknown))).toMatchObject({
      code: Code.InvalidArgument,
      violations: [{ field: "update_mask", description: expect.stringContaining("no_such_field") }],
    });
  });

  test("a request that no message can have is INVALID_ARGUMENT", async () => {
    expect(await failureOf(here().repos.get(undefined as never))).toMatchObject({ violations: [{ field: "uid" }] });
    for (const pageSize of [2 ** 31, 1.5])
      expect(await failureOf(here().repos.list({ pageSize }).page())).toMatchObject({ code: Code.InvalidArgument });
  });
});

test("a custom method has its own name", async () => {
  const [viewer] = await arrayOf(client.roles.list({ name: "viewer" }));
  const { code } = await client.groupInvites.create({
    parent: server.root,
    groupInvite: { roleUid: viewer!.uid, ttl: { seconds: 60n } },
  });
  expect(await client.groupInvites.accept({ code })).toMatchObject({ role: { name: "viewer" } });
  expect(await client.ping.ping({})).toMatchObject({ response: "pong" });
});

test("errors have their details", async () => {
  const error = await failureOf(client.identities.create({ parent: server.root, identity: {} }));
  expect(error).toBeInstanceOf(PlatformError);
  expect(error).toMatchObject({ code: Code.InvalidArgument, violations: [{ field: "name" }] });
  expect(await failureOf(arrayOf(client.repos.list({ orderBy: "nothing" })))).toMatchObject({
    violations: [{ field: "order_by" }],
  });
});

describe("lists", () => {
  const names = Array.from({ length: 7 }, (_, index) => `listed-${index}`);
  let parent: string;

  beforeAll(async () => {
    ({ uid: parent } = await client.groups.create({ parent: server.root, group: { name: "lists" } }));
    for (const name of names) await client.repos.create({ parent, repo: { name } });
  });
  const request = () => ({ uidp: { childrenOf: parent }, orderBy: "name", pageSize: 2 });

  test("have the results of all pages, each time that they are iterated", async () => {
    const list = client.repos.list(request());
    for (const _ of [1, 2]) expect((await arrayOf(list)).map(({ name }) => name)).toEqual(names);
  });

  test("skip results once", async () => {
    const skipped = await arrayOf(client.repos.list({ ...request(), skip: 3 }));
    expect(skipped.map(({ name }) => name)).toEqual(names.slice(3));
  });

  test("have pages with the total", async () => {
    const pages = await arrayOf(client.repos.list(request()).pages());
    expect(pages.map(({ repos, totalCount }) => [repos.length, totalCount])).toEqual([
      [2, 7n],
      [2, 7n],
      [2, 7n],
      [1, 7n],
    ]);
    const first = await client.repos.list(request()).page();
    const second = await client.repos.list({ ...request(), pageToken: first.nextPageToken! }).page();
    expect([first, second]).toEqual(pages.slice(0, 2).map((page) => ({ ...page, nextPageToken: expect.any(String) })));
  });

  test("call the server no further than they are used", async () => {
    let calls = 0;
    for await (const { name } of client.repos.list(request(), { onHeader: () => calls++ })) {
      if (name === names[2]) break;
    }
    expect(calls).toBe(2);
  });

  test("are empty without results, and need no request", async () => {
    expect(await arrayOf(client.repos.list({ name: "" }))).toEqual([]);
    expect((await arrayOf(client.roles.list())).length).toBeGreaterThan(0);
  });
});

test("clients of some services", async () => {
  const clients = createClientsOf({ ReposService }, createPlatformTransport({ server: server.server }));
  expect(Object.keys(clients)).toEqual(["repos"]);
  expect(await failureOf(clients.repos.list().page())).toMatchObject({ code: Code.Unauthenticated });
  expectTypeOf(clients.repos).toEqualTypeOf<PlatformClient["repos"]>();
});

test("types", () => {
  expectTypeOf(client.repos.get).returns.toEqualTypeOf<Promise<Repo>>();
  expectTypeOf(client.groupInvites.accept).returns.toEqualTypeOf<Promise<RoleBinding>>();
  expectTypeOf(client.repos.list).returns.toEqualTypeOf<List<Repo, ListReposResponse>>();
  expectTypeOf(client.advisories.list()).toExtend<AsyncIterable<Advisory>>();
  // A page of reports has lists of strings, too.
  expectTypeOf(client.securityAdvisory.listResolvedVulnsReports({})).toExtend<AsyncIterable<ResolvedVulnsReport>>();
  expectTypeOf(client.repos.get).parameter(1).toEqualTypeOf<CallOptions | undefined>();
  expectTypeOf(client.repos.delete).parameter(0).extract<string>().toEqualTypeOf<string>();
  expectTypeOf(client.repos.create).parameter(0).extract<string>().toBeNever();
  // @ts-expect-error: there is no such field
  () => client.repos.create({ parent: "", repo: { title: "" } });
  // @ts-expect-error: a method without a uid
  () => client.repos.create("uid");
  // @ts-expect-error: there is no such method
  () => client.images.list();
});
