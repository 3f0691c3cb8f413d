/**
 * `docs/adding-a-resource.md` and `docs/changing-the-contract.md`, followed one after the other in a copy of the
 * repository: the server then serves the new resource over REST and gRPC, shows it in its console, records its events
 * and keeps its group, and serves what has been changed. A step of a page that does not fit the repository is named by
 * its line.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { loadSync, type MethodDefinition } from "@grpc/proto-loader";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanEnvironment, repository } from "../cli/platform-process.ts";
import { type RestClient, restClient } from "../cli/rest-client.ts";
import { consoleBrowser, hasBrowser } from "../conformance/console/browser.ts";
import { type EventSink, shortType, startSink } from "../conformance/event-sink.ts";
import { blocksOf, copyRepository, follow, newFilesOf, run } from "./recipe.ts";

const pages = ["docs/adding-a-resource.md", "docs/changing-the-contract.md"];
const blocks = pages.flatMap((page) =>
  blocksOf(readFileSync(join(repository, page), "utf8")).map((block) => ({ ...block, page })),
);

let folder: string;
let sink: EventSink;
let server: ChildProcess | undefined;
let rest: RestClient;
let grpc: GrpcClient;
let root: string;
let address: { readonly baseUrl: string; readonly admin: string };

const browser = consoleBrowser(() => address);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-recipe-"));
  sink = await startSink();
  copyRepository(folder);
  for (const block of blocks) {
    try {
      follow(folder, block);
    } catch (error) {
      throw new Error(`${block.page}:${block.line}: ${(error as Error).message}`);
    }
  }
  if (hasBrowser) run(folder, "node console/build.mjs");
  const { baseUrl, token } = await start();
  address = { baseUrl, admin: token };
  rest = restClient(baseUrl, token);
  grpc = new GrpcClient(baseUrl, token);
  root = (await rest.get("/iam/v2/groups")).body.groups[0].uid;
}, 300_000);

afterAll(async () => {
  grpc?.close();
  server?.kill("SIGKILL");
  await sink?.close();
  await rm(folder, { recursive: true, force: true });
});

test("the changed tree passes the checks of types, style and proto files", () => {
  run(folder, `tsc --noEmit; biome check ${newFilesOf(blocks).join(" ")} src/services; buf lint`);
}, 300_000);

test("the excerpts of the proto file are in it", () => {
  const file = readFileSync(join(repository, "docs/adding-a-resource/hosts.proto"), "utf8");
  const excerpts = blocks.filter(({ language }) => language === "proto");
  expect(excerpts.length).toBeGreaterThan(0);
  for (const { content } of excerpts) expect(file).toContain(content);
});

test("create, get, list, update and delete over REST, each change with its event", async () => {
  const group = await makeGroup("rest");
  const created = await rest.post(`/inventory/v2/hosts/${group}`, { name: "db-1", description: "first" });
  expect(created).toMatchObject({ status: 200, body: { name: "db-1", description: "first" } });
  const { uid } = created.body;
  const path = `/inventory/v2/hosts/${uid}`;
  expect(await rest.get(path)).toEqual(created);

  await rest.post(`/inventory/v2/hosts/${group}`, { name: "db-2" });
  expect(await rest.get(`/inventory/v2/hosts?uidp.children_of=${group}&order_by=name`)).toMatchObject({
    body: { hosts: [{ name: "db-1" }, { name: "db-2" }], totalCount: "2" },
  });
  expect(await rest.get(`/inventory/v2/hosts?uidp.children_of=${group}&name=db-1`)).toMatchObject({
    body: { hosts: [created.body], totalCount: "1" },
  });

  expect(await rest.patch(path, { description: "changed" })).toMatchObject({
    body: { uid, name: "db-1", description: "changed" },
  });
  expect(await rest.delete(path)).toEqual({ status: 200, body: {} });
  expect(await rest.get(path)).toMatchObject({ status: 404 });
  await expectEvents(group, uid);
});

test("create, get, list, update and delete over gRPC, each change with its event", async () => {
  const group = await makeGroup("grpc");
  const created = await grpc.call("CreateHost", { parent: group, host: { name: "db-1", description: "first" } });
  expect(created).toMatchObject({ name: "db-1", description: "first" });
  const { uid } = created;
  expect(await grpc.call("GetHost", { uid })).toEqual(created);
  expect(await grpc.call("ListHosts", { uidp: { childrenOf: group } })).toMatchObject({
    hosts: [created],
    totalCount: "1",
  });
  expect(await grpc.call("UpdateHost", { host: { uid, description: "changed" } })).toMatchObject({
    name: "db-1",
    description: "changed",
  });
  await grpc.call("DeleteHost", { uid });
  await expect(grpc.call("GetHost", { uid })).rejects.toMatchObject({ code: status.NOT_FOUND });
  await expectEvents(group, uid);
});

test("value rules, uniqueness and the rule for its group are those that the page declares", async () => {
  const group = await makeGroup("rules");
  const post = (host: object) => rest.post(`/inventory/v2/hosts/${group}`, host);
  expect((await post({ name: "Not a name" })).body.message).toContain("name");
  expect(await post({ name: "db-1" })).toMatchObject({ status: 200 });
  expect(await post({ name: "db-1" })).toMatchObject({ status: 409 });
  expect(await rest.delete(`/iam/v2/groups/${group}`)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining("hosts") },
  });
});

test("a role has the field, the filter and the order that the page adds", async () => {
  const group = await makeGroup("roles");
  for (const contact of ["b@example.com", "", "a@example.com"]) {
    const role = { name: "role", capabilities: ["CAP_REPO_LIST"], contact };
    expect(await rest.post(`/iam/v2/roles/${group}`, role)).toMatchObject({ status: 200, body: { contact } });
  }
  const listed = async (query: string) =>
    (await rest.get(`/iam/v2/roles?uidp.children_of=${group}&${query}`)).body.roles.map(
      (role: { contact: string }) => role.contact,
    );
  expect(await listed("contact=b@example.com")).toEqual(["b@example.com"]);
  expect(await listed("contact=")).toEqual([]);
  expect(await listed("order_by=contact%20desc")).toEqual(["b@example.com", "a@example.com", ""]);
});

test("a repo has the tier and the error that the page adds", async () => {
  const { uid } = (await rest.post(`/registry/v2/repos/${await makeGroup("tiers")}`, { name: "repo" })).body;
  const preview = { catalogTier: "CATALOG_TIER_PREVIEW" };
  const refused = await rest.patch(`/registry/v2/repos/${uid}`, preview);
  expect(refused).toMatchObject({ status: 400, body: { code: status.FAILED_PRECONDITION } });
  expect(refused.body.details).toContainEqual(
    expect.objectContaining({ violations: [expect.objectContaining({ type: "DESCRIPTION_MISSING", subject: uid })] }),
  );
  const changed = { ...preview, description: "Preview" };
  expect(await rest.patch(`/registry/v2/repos/${uid}`, changed)).toMatchObject({ status: 200, body: changed });
  expect((await rest.get(`/registry/v1/repos?id=${uid}`)).body.items).toMatchObject([{ catalogTier: "UNKNOWN" }]);
});

test.skipIf(!hasBrowser)("the console lists, creates and shows it", async () => {
  const group = await makeGroup("console");
  const { page, complaints } = await browser.open("");
  await page.getByRole("navigation").getByRole("link", { name: "Hosts", exact: true }).click();
  await page.getByRole("heading", { name: "Hosts", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Create host" }).click();
  await page.getByRole("combobox", { name: "Parent" }).fill(group);
  await page.getByRole("option").first().click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("db-console");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("heading", { name: "db-console", level: 1 }).waitFor();
  expect(await rest.get(`/inventory/v2/hosts?uidp.children_of=${group}`)).toMatchObject({
    body: { hosts: [{ name: "db-console" }] },
  });
  expect(complaints).toEqual([]);
  await page.context().close();
});

/** Starts the changed server on an empty database; its address, and the administrator's token. */
async function start(): Promise<{ baseUrl: string; token: string }> {
  const database = `sqlite:${join(folder, "recipe.db")}`;
  const env = { ...cleanEnvironment(), PLATFORM_DATABASE: database, PLATFORM_ALLOW_LOOPBACK_SINKS: "true" };
  const child = spawn(process.execPath, ["src/main.ts", "serve", "--listen", "127.0.0.1:0"], { cwd: folder, env });
  server = child;
  let log = "";
  const baseUrl = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      log += chunk;
    });
    child.stdout.on("data", (chunk) => {
      log += chunk;
      const found = /^platform listens on (\S+)$/m.exec(log)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", () => reject(new Error(`the server of ${pages.join(" and ")} does not start:\n${log}`)));
  });
  const token = await output("token", env);
  return { baseUrl, token };
}

/** What a command of the changed program prints. */
function output(command: string, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["src/main.ts", command], { cwd: folder, env });
    let printed = "";
    child.stdout.on("data", (chunk) => {
      printed += chunk;
    });
    child.once("close", (code) => (code === 0 ? resolve(printed.trim()) : reject(new Error(`${command}: ${code}`))));
  });
}

/** A group below the root, whose events go to a path of the sink. */
async function makeGroup(name: string): Promise<string> {
  const { uid } = (await rest.post(`/iam/v2/groups/${root}`, { name })).body;
  expect(await rest.post(`/events/v2/subscriptions/${uid}`, { sink: sink.url(`/${uid}`) })).toMatchObject({
    status: 200,
  });
  return uid;
}

async function expectEvents(group: string, host: string): Promise<void> {
  const expected = ["inventory.host.created", "inventory.host.deleted", "inventory.host.updated"];
  await expect
    .poll(() =>
      sink
        .at(`/${group}`)
        .filter(({ headers }) => headers["ce-subject"] === host)
        .map(shortType)
        .sort(),
    )
    .toEqual(expected);
}

/** The client of a reader of proto files that shares nothing with the server. */
class GrpcClient {
  readonly #client: Client;
  readonly #metadata = new Metadata();
  readonly #service: Methods;

  constructor(baseUrl: string, token: string) {
    this.#client = new Client(new URL(baseUrl).host, credentials.createInsecure());
    this.#metadata.set("authorization", `Bearer ${token}`);
    const definition = loadSync("platform/inventory/v2/hosts.proto", {
      includeDirs: [join(folder, "proto"), join(folder, ".proto-deps")],
      longs: String,
      defaults: true,
    });
    this.#service = definition["platform.inventory.v2.HostsService"] as unknown as Methods;
  }

  call(name: string, request: object): Promise<Host> {
    const { path, requestSerialize, responseDeserialize } = this.#service[name]!;
    return new Promise((resolve, reject) => {
      const answered = (error: ServiceError | null, answer?: Host) => (error ? reject(error) : resolve(answer!));
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, this.#metadata, answered);
    });
  }

  close(): void {
    this.#client.close();
  }
}

type Methods = Readonly<Record<string, MethodDefinition<object, Host>>>;

/** An answer as proto-loader reads it. */
// biome-ignore lint/suspicious/noExplicitAny: the test reads it as a client without types does
type Host = any;
