import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "../../gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "../../gen/platform/iam/v2/role_bindings_pb.ts";
import { PingService } from "../../gen/platform/ping/v2/ping_pb.ts";
import {
  GetRepoRequestSchema,
  ReposService,
  UpdateRepoRequestSchema,
} from "../../gen/platform/registry/v2/repos_pb.ts";
import { readContract } from "../../src/contract/index.ts";
import { careless, type MethodSketch } from "./faulty-service.ts";
import { generatedServices } from "./generated.ts";

const scoped: MethodSketch["iam"] = { rule: { case: "enabled", value: { capabilities: [Capability.CAP_REPO_LIST] } } };
const uid = { name: "uid", isScope: true, names: "registry.platform.internal/Repo" };

describe("a method that says too little is refused, by name", () => {
  test.each<[string, MethodSketch, string]>([
    ["no authorization rule", {}, "has no authorization rule"],
    ["an empty rule", { iam: {} }, "has an empty authorization rule"],
    ["no REST address", { http: false, iam: scoped, fields: [uid] }, "has no google.api.http binding"],
    ["no domain", { packageName: "test", iam: scoped, fields: [uid] }, "its package names no domain"],
    ["a server stream", { iam: scoped, fields: [uid], streams: { serverStreaming: true } }, "streams its answer"],
    [
      "streams in both directions",
      { iam: scoped, fields: [uid], streams: { clientStreaming: true, serverStreaming: true } },
      "streams its answer",
    ],
    [
      "a scope and no capability",
      { iam: { rule: { case: "enabled", value: {} } }, fields: [uid] },
      "is scoped but needs no capability",
    ],
    ["capabilities and no scope", { iam: scoped, fields: [{ name: "uid" }] }, "is scoped and has 0 scope fields"],
    ["two scopes", { iam: scoped, fields: [uid, { ...uid, name: "parent" }] }, "is scoped and has 2 scope fields"],
    [
      "a scope of unknown type",
      { iam: scoped, fields: [{ name: "uid", isScope: true }] },
      "scope field uid has no google.api.resource_reference",
    ],
    [
      "a scope that holds no uid",
      { iam: scoped, fields: [{ name: "other", isScope: true, isMessage: true }] },
      "scope field other is not a uid and holds none",
    ],
    [
      "a change and no event",
      { name: "DeleteThing", iam: scoped, fields: [uid] },
      "changes a resource and has no event",
    ],
  ])("%s", (_what, sketch, fault) => {
    expect(() => readContract([careless(sketch)])).toThrow(`Careless.${sketch.name ?? "Do"}: ${fault}`);
  });

  test("all of them in one error", () => {
    const services = [careless({}), PingService, careless({ packageName: "platform.other.v2", iam: {} })];
    expect(() => readContract(services)).toThrow(
      /^the contract is incomplete:\n {2}platform\.test\.v2\.Careless\.Do: .*\n {2}platform\.other\.v2\.Careless\.Do: .*$/,
    );
  });

  test("none of ours", () => {
    expect(readContract(generatedServices).methods).toHaveLength(
      generatedServices.flatMap(({ methods }) => methods).length,
    );
  });
});

describe("what is read", () => {
  const contract = readContract([
    PingService,
    ReposService,
    GroupsService,
    RoleBindingsService,
    careless({ iam: scoped, fields: [{ ...uid, name: "repo_uid" }] }),
  ]);

  test("an open method", () => {
    expect(contract.of(PingService.method.ping)).toMatchObject({
      domain: "ping",
      authorization: { kind: "open" },
      mutates: false,
      event: undefined,
    });
  });

  test("a scope that is a field of the request", () => {
    const { authorization, mutates } = contract.of(ReposService.method.getRepo);
    expect(mutates).toBe(false);
    if (authorization.kind !== "scoped") return expect.fail(authorization.kind);
    expect(authorization).toMatchObject({
      capabilities: [Capability.CAP_REPO_LIST],
      scope: { field: "uid", resourceType: "registry.platform.internal/Repo" },
    });
    expect(authorization.scope.uidOf(create(GetRepoRequestSchema, { uid: "a/b" }))).toBe("a/b");
    expect(authorization.scope.uidOf(create(GetRepoRequestSchema))).toBe("");
  });

  test("a scope that is the uid of the resource in the body", () => {
    const { authorization, mutates } = contract.of(ReposService.method.updateRepo);
    expect(mutates).toBe(true);
    if (authorization.kind !== "scoped") return expect.fail(authorization.kind);
    expect(authorization.scope).toMatchObject({ field: "uid", resourceType: "registry.platform.internal/Repo" });
    expect(authorization.scope.uidOf(create(UpdateRepoRequestSchema, { repo: { uid: "a/b" } }))).toBe("a/b");
    expect(authorization.scope.uidOf(create(UpdateRepoRequestSchema))).toBe("");
  });

  test("a method for whatever the caller may see", () => {
    expect(contract.of(ReposService.method.listRepos).authorization).toEqual({
      kind: "unscoped",
      capabilities: [Capability.CAP_REPO_LIST],
    });
  });

  test("an event", () => {
    expect(contract.of(GroupsService.method.createGroup).event).toMatchObject({
      type: expect.stringMatching(/group\.created\.v1$/),
    });
    expect(contract.of(ReposService.method.createRepo).event).toEqual({
      type: "dev.platform.api.platform.registry.repo.created.v1",
      extensions: ["group"],
      internal: false,
      path: "/registry/v2/repos",
    });
    expect(contract.of(RoleBindingsService.method.batchCreateRoleBindings).event).toMatchObject({
      path: "/iam/v2/roleBindings:batchCreate",
    });
  });

  test("a method outside the contract is a mistake of the program", () => {
    expect(() => readContract([PingService]).of(ReposService.method.getRepo)).toThrow(
      "ReposService.GetRepo is not in the contract",
    );
  });
});
