/** `platform serve` where code must not be generated from strings: by the process, or by its setting. */
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { ListReposRequestSchema, ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { grpcRepos } from "../conformance/grpc-repos.ts";
import { runPlatform, settingsIn, startPlatformForTest, temporaryFolder } from "./platform-process.ts";
import { restClient } from "./rest-client.ts";

const forbidden = { NODE_OPTIONS: "--disallow-code-generation-from-strings" };

test.each([
  ["forbidden in the process", forbidden],
  ["switched off", { PLATFORM_GENERATED_CODE: "off" }],
])("generated code %s: REST, gRPC, gRPC-Web and Connect are served", async (_, env) => {
  const { database, serve } = settingsIn(await temporaryFolder());
  const server = await startPlatformForTest(serve, { env });
  const token = (await runPlatform(["token", ...database], { env })).stdout.trim();
  const root = /root group {11}(?<root>[0-9a-f]{40})\n/.exec(server.stdout())!.groups!.root!;
  const rest = restClient(server.baseUrl, token);

  const made = await rest.post(`/registry/v2/repos/${root}`, { name: "repo", catalogTier: "CATALOG_TIER_BASE" });
  expect(made).toMatchObject({
    status: 200,
    body: { name: "repo", catalogTier: "CATALOG_TIER_BASE", description: "" },
  });
  const refused = await rest.post(`/registry/v2/repos/${root}`, { name: "other", catalog_tier: "NONE", x: 1 });
  expect(refused.status).toBe(400);
  expect(refused.body.details.at(-1).fieldViolations).toEqual([
    { field: "catalog_tier", description: expect.stringMatching(/^must be one of /) },
    { field: "x", description: "unknown field" },
  ]);
  const listed = await rest.get("/registry/v2/repos");
  expect(listed.body).toEqual({ repos: [made.body], totalCount: "1", skipped: 0 });

  const grpc = grpcRepos(new URL(server.baseUrl).host, token);
  const overGrpc = await grpc.call("CreateRepo", { parent: root, repo: { name: "by-grpc" } });
  expect(overGrpc).toMatchObject({ name: "by-grpc" });
  expect((await grpc.call("ListRepos", {})).repos).toHaveLength(2);
  grpc.close();

  const headers = { authorization: `Bearer ${token}` };
  for (const transport of [
    createConnectTransport({ baseUrl: server.baseUrl, httpVersion: "1.1" }),
    createConnectTransport({ baseUrl: server.baseUrl, httpVersion: "2", useBinaryFormat: true }),
    createGrpcWebTransport({ baseUrl: server.baseUrl, httpVersion: "1.1" }),
  ]) {
    const { repos } = await createClient(ReposService, transport).listRepos(create(ListReposRequestSchema), {
      headers,
    });
    expect(repos.map(({ name }) => name).sort()).toEqual(["by-grpc", "repo"]);
  }
});
