/** A check of servers that have a part of the contract, made by hand. */
import { createServer, type RequestListener } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { expect, onTestFinished, test } from "vitest";
import { contractRegistry } from "../../../src/remote/catalog/descriptors.ts";
import { createRestHandler, fromRouter } from "../../../src/rest/index.ts";
import { runHere } from "../../cli/run-here.ts";
import type { Any } from "../../rest/fixture.ts";

const repos = contractRegistry().getService("platform.registry.v2.ReposService")!;
const ping = contractRegistry().getService("platform.ping.v2.PingService")!;

/** Wants a token, and pages of at least 0. */
const routes = (router: ConnectRouter) =>
  router.service(repos, {
    listRepos({ pageSize, skip }: Any, { requestHeader }: Any) {
      if (requestHeader.get("authorization") !== "Bearer good") throw new ConnectError("who?", Code.Unauthenticated);
      if (pageSize < 0 || skip < 0) throw new ConnectError("no", Code.InvalidArgument);
      return {};
    },
  } as Any);

async function check(server: string, ...args: string[]) {
  const { code, stdout, stderr } = await runHere(["contract", "check", "--timeout", "10", ...args], {
    env: { PLATFORM_SERVER: server, PLATFORM_TOKEN: "good" },
  });
  return { code, stdout, stderr };
}

async function listen(server: ReturnType<typeof createServer> | ReturnType<typeof createHttp2Server>) {
  if ("keepAliveTimeout" in server) server.keepAliveTimeout = 0; // a busy machine pauses for seconds
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", () => done()));
  onTestFinished(() => {
    server.close();
    if ("closeAllConnections" in server) server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The differences but for what the inventory tells, each with its rule and operation. */
async function differences(server: string, ...args: string[]) {
  const { code, stdout, stderr } = await check(server, ...args, "-o", "json");
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  return JSON.parse(stdout)
    .filter(({ rule, outcome }: Any) => outcome === "differs" && rule !== "methods/served")
    .map(({ rule, operation }: Any) => `${rule} ${operation}`);
}

test("a plain Connect service with one method is told in a line, and the method is checked", async () => {
  const server = await listen(createServer(connectNodeAdapter({ routes })));
  const { code, stdout, stderr } = await check(server);
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  const [inventory, ...blocks] = stdout.split("\n");
  expect(inventory).toMatch(
    /^serves, of \d+ methods, 1 over Connect; missing: .*GroupsService.*, GetRepo, .*TagsService/,
  );
  expect(blocks.join("\n")).not.toContain("methods/served");
  expect(await differences(server)).toEqual([
    "protocols/served REST",
    "protocols/served gRPC",
    "errors/error-info ListRepos",
    "errors/bad-request ListRepos",
    "lists/negative-page-size ListRepos",
    "lists/negative-skip ListRepos",
  ]);
});

test("a service over gRPC alone", async () => {
  const server = await listen(createHttp2Server(connectNodeAdapter({ routes })));
  expect((await check(server)).stdout).toMatch(/^serves, of \d+ methods, 1 over gRPC; missing: /);
  expect(await check(server, "--protocols", "grpc", "--only", "protocols,authentication")).toMatchObject({ code: 0 });
});

test("a gateway with REST alone, of another maker", async () => {
  const handler = createRestHandler({ ...fromRouter(routes), json: { alwaysEmitImplicit: true } });
  const server = await listen(createServer(handler as RequestListener));
  const { stdout } = await check(server);
  expect(stdout).toMatch(/^serves, of \d+ methods, 1 over REST; missing: /);
  const found = await differences(server, "--protocols", "rest");
  expect(found).toContain("errors/error-info ListRepos");
  expect(found).not.toContain("protocols/served REST");
  expect(found.filter((line: string) => line.startsWith("authentication/"))).toEqual([]);
});

test("an open method alone has no group to work in", async () => {
  const openRoutes = (router: ConnectRouter) => router.service(ping, {} as Any);
  const server = await listen(createServer(connectNodeAdapter({ routes: openRoutes })));
  const { code, stdout, stderr } = await check(server);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("error: cannot begin: ListGroups: no readable answer over rest: HTTP 404");
});
