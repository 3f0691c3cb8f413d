/** What the deletion of a parent does to its children, as their declarations say. */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DocumentSchema, ListDocumentsRequestSchema } from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { GroupSchema, GroupsService, ListGroupsRequestSchema } from "../../gen/platform/iam/v2/groups_pb.ts";
import { IdentityProvidersService } from "../../gen/platform/iam/v2/identity_providers_pb.ts";
import {
  ListReposRequestSchema,
  RepoReadmeSchema,
  RepoSchema,
  ReposService,
} from "../../gen/platform/registry/v2/repos_pb.ts";
import { TagSchema } from "../../gen/platform/registry/v2/tags_pb.ts";
import { authorizeOperator } from "../../src/auth/index.ts";
import { newUid } from "../../src/new-uid.ts";
import {
  contentOf,
  createPageTokens,
  createSecrets,
  defineResource,
  equalTo,
  implement,
  mount,
  type OnParentDelete,
  provideEnvironment,
  type Resource,
  removeResource,
} from "../../src/resource/index.ts";
import { type Database, openDatabase, type WriteSession } from "../../src/store/index.ts";
import { services } from "../services/served.ts";

let database: Database;
beforeEach(async () => {
  database = await openDatabase("sqlite::memory:");
  await database.migrate();
});
afterEach(() => database.close());

/** Runs a handler's work in a transaction, as an operator. */
function inCall<T>(work: (context: HandlerContext, session: WriteSession) => Promise<T>): Promise<T> {
  return database.transact((session) => {
    const values = createContextValues();
    authorizeOperator(values, "test");
    const environment = {
      pageTokens: createPageTokens(Buffer.alloc(32)),
      secrets: createSecrets([Buffer.alloc(32)]),
      issuerUrl: "https://platform.example.com",
      baseUrl: "https://platform.example.com",
      allowLoopbackIssuers: false,
      maxPatterns: 1,
      quotas: {},
    };
    provideEnvironment(values, environment, { session, nowMs: 0 });
    const context = { values, requestHeader: new Headers(), responseHeader: new Headers() };
    return work(context as HandlerContext, session);
  });
}

async function insert(resource: Resource, uid: string, parent: string, init: object = {}): Promise<string> {
  const content = contentOf(resource, create(resource.declaration.schema, init as MessageInitShape<DescMessage>));
  const row = { uid, parent, createTimeUs: 1, updateTimeUs: 1, ...content };
  await database.transact((session) => session.insert(resource.table, row));
  return uid;
}

const uidsOf = async ({ table }: Resource) =>
  (await database.read.list(table, { orderBy: [], skip: 0, limit: 9 })).map(({ uid }) => uid);

/** Test-only resources in existing tables: shelves hold boxes, boxes hold things, a label is part of a box. */
function shelves(boxesOnDelete: OnParentDelete, thingsOnDelete: OnParentDelete) {
  const shelf = defineResource({
    schema: GroupSchema,
    list: ListGroupsRequestSchema,
    nestsInItself: true,
    onParentDelete: "block",
    columns: { name: { text: ({ name }) => name }, verified: { integer: () => 0 } },
    filters: { name: () => [] },
  });
  const box = defineResource({
    schema: RepoSchema,
    list: ListReposRequestSchema,
    parent: shelf,
    onParentDelete: boxesOnDelete,
    columns: { name: { text: ({ name }) => name } },
    filters: { name: () => [] },
  });
  const label = defineResource({
    schema: RepoReadmeSchema,
    partOf: box,
    columns: {},
  });
  const thing = defineResource({
    schema: TagSchema,
    parent: box,
    onParentDelete: thingsOnDelete,
    columns: { name: { text: ({ name }) => name }, digest: { text: () => "" }, family: { text: () => "" } },
  });
  const handlers = Object.fromEntries(ReposService.methods.map(({ localName }) => [localName, () => ({})]));
  mount([implement(GroupsService, [shelf]), implement(ReposService, [box, label, thing], handlers)]);
  return { shelf, box, label, thing };
}

async function fill({ shelf, box, label, thing }: ReturnType<typeof shelves>) {
  const top = await insert(shelf, newUid(""), "");
  const inTop = await insert(box, newUid(top), top);
  await insert(label, inTop, top);
  const inBox = await insert(thing, newUid(inTop), inTop);
  return { top, inTop, inBox };
}

describe("children", () => {
  test("that block keep their parent, whatever they would cascade to themselves", async () => {
    const all = shelves("block", "cascade");
    const { top, inTop } = await fill(all);
    await expect(inCall((context) => removeResource(all.shelf, { uid: top }, context))).rejects.toThrow(
      "cannot delete group with child repos",
    );
    expect(await uidsOf(all.box)).toEqual([inTop]);
  });

  test("that cascade go with their parent, at every depth, and with their parts", async () => {
    const all = shelves("cascade", "cascade");
    const { top } = await fill(all);
    const other = await fill(all);
    await inCall((context) => removeResource(all.shelf, { uid: top }, context));
    expect(await uidsOf(all.shelf)).toEqual([other.top]);
    expect(await uidsOf(all.box)).toEqual([other.inTop]);
    expect(await uidsOf(all.label)).toEqual([other.inTop]);
    expect(await uidsOf(all.thing)).toEqual([other.inBox]);
  });

  test("that block at the end of a cascade block it", async () => {
    const all = shelves("cascade", "block");
    const { top } = await fill(all);
    await expect(inCall((context) => removeResource(all.shelf, { uid: top }, context))).rejects.toThrow(
      "cannot delete group with child tags",
    );
  });

  test("go, too, when the deletion is forced", async () => {
    const all = shelves("block", "block");
    const { top } = await fill(all);
    await inCall((context) => removeResource(all.shelf, { uid: top, force: true }, context));
    for (const resource of Object.values(all)) expect(await uidsOf(resource)).toEqual([]);
  });

  test("a resource may nest in itself", async () => {
    const all = shelves("cascade", "cascade");
    const top = await insert(all.shelf, newUid(""), "");
    const inTop = await insert(all.shelf, newUid(top), top);
    await expect(inCall((context) => removeResource(all.shelf, { uid: top }, context))).rejects.toThrow(
      "cannot delete group with child groups",
    );
    await inCall((context) => removeResource(all.shelf, { uid: inTop }, context));
    expect(await uidsOf(all.shelf)).toEqual([top]);
  });
});

describe("the product", () => {
  const groupsService = services.find(({ service }) => service === GroupsService)!;
  const [groups] = groupsService.resources;
  const declare = (onParentDelete: OnParentDelete) =>
    defineResource({
      schema: DocumentSchema,
      list: ListDocumentsRequestSchema,
      parent: groups!,
      onParentDelete,
      columns: { id: { text: ({ id }) => id }, identifiers: { texts: () => [] } },
      filters: { id: () => [], cves: () => [] },
    });
  const deleteGroup = (uid: string) =>
    inCall(async (context) => groupsService.methods.deleteGroup!({ uid } as never, context));

  test("names children of two words", async () => {
    const [providers] = services.find(({ service }) => service === IdentityProvidersService)!.resources;
    const group = await insert(groups!, newUid(""), "");
    await insert(providers!, newUid(group), group, { configuration: { case: "oidc", value: {} } });
    await expect(deleteGroup(group)).rejects.toThrow("cannot delete group with child identity providers");
  });

  test("takes a new resource below groups without an edit of groups", async () => {
    const kept = await insert(groups!, newUid(""), "");
    const emptied = await insert(groups!, newUid(""), "");
    const cascading = declare("cascade");
    mount([{ service: GroupsService, methods: {}, resources: [cascading] }]);
    await insert(cascading, newUid(emptied), emptied);
    await deleteGroup(emptied);
    expect(await uidsOf(cascading)).toEqual([]);

    const blocking = declare("block");
    mount([{ service: GroupsService, methods: {}, resources: [blocking] }]);
    const document = await insert(blocking, newUid(kept), kept);
    await expect(deleteGroup(kept)).rejects.toThrow("cannot delete group with child documents");
    expect(await uidsOf(blocking)).toEqual([document]);
  });
});

describe("forgetting is an error", () => {
  const { shelf } = shelves("block", "block");
  const rest = {
    schema: DocumentSchema,
    list: ListDocumentsRequestSchema,
    columns: {},
    filters: { id: () => [], cves: () => [] },
  } as const;

  test("to the compiler", () => {
    // @ts-expect-error a parent without onParentDelete
    defineResource({ ...rest, parent: shelf });
    // @ts-expect-error nesting without onParentDelete
    defineResource({ ...rest, nestsInItself: true });
    // @ts-expect-error onParentDelete without a parent
    defineResource({ ...rest, onParentDelete: "block" });
    // @ts-expect-error neither block nor cascade
    defineResource({ ...rest, parent: shelf, onParentDelete: "orphan" });
    // @ts-expect-error a list without its filters
    expect(() => defineResource({ schema: DocumentSchema, list: ListDocumentsRequestSchema, columns: {} }));
    // @ts-expect-error what no column has, to be unique
    defineResource({ ...rest, unique: ["name"] });
    // @ts-expect-error what no column has, to be ordered by
    defineResource({ ...rest, sortNames: { name: "name" } });
    // @ts-expect-error what no column has, to be filtered by
    defineResource({ ...rest, filters: { ...rest.filters, id: equalTo("name") } });
  });

  test("at start-up, of the list", () => {
    const handlers = Object.fromEntries(ReposService.methods.map(({ localName }) => [localName, () => ({})]));
    const repo = { schema: RepoSchema, parent: shelf, onParentDelete: "block", columns: {} } as const;
    expect(() => implement(ReposService, [defineResource(repo)], handlers)).toThrow(
      "Repo declares no list, and platform.registry.v2.ReposService lists it by ListReposRequest",
    );
    const readme = { schema: RepoReadmeSchema, list: ListReposRequestSchema, columns: {}, filters: { name: () => [] } };
    expect(() => implement(ReposService, [defineResource(readme)], handlers)).toThrow(
      "RepoReadme declares the list ListReposRequest, and platform.registry.v2.ReposService has no List method for it",
    );
  });

  test("at start-up, of the parent itself", () => {
    const box = defineResource({
      schema: RepoSchema,
      list: ListReposRequestSchema,
      columns: {},
      filters: { name: () => [] },
    });
    expect(() => implement(ReposService, [box])).toThrow(
      "Repo is created below a parent, which its declaration does not name",
    );
  });
});
