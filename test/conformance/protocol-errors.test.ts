/** What the layer of a protocol refuses has the form of every other error, and what the protocol asks for besides. */
import http2 from "node:http2";
import { expect, test } from "vitest";
import { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import type { Json } from "./contract.ts";
import { freshUid, makeGroup, makeMember, makeRepo } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

const method = "/platform.registry.v2.ReposService/ListRepos";
const compressed = Buffer.from([1, 0, 0, 0, 1, 9]);
const empty = Buffer.from([0, 0, 0, 0, 0]);

onEveryServer("an error of a protocol", (platform) => {
  /** The header and trailer fields of an answer to gRPC. */
  function grpc(headers: Record<string, string>, body: Buffer): Promise<Record<string, string | undefined>> {
    const session = http2.connect(platform().baseUrl);
    const all = {
      ":method": "POST",
      ":path": method,
      authorization: `Bearer ${platform().admin}`,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    };
    return new Promise((resolve, reject) => {
      const stream = session.request(all);
      const fields: Record<string, string | undefined> = {};
      const add = (more: object) => Object.assign(fields, more);
      stream
        .on("response", add)
        .on("trailers", add)
        .on("error", reject)
        .on("close", () => {
          session.close();
          resolve(fields);
        });
      stream.resume().end(body);
    });
  }

  const post = async (headers: Record<string, string>, body: string | Buffer, path = method) => {
    const response = await platform().fetch(path, {
      method: "POST",
      body: typeof body === "string" ? body : new Uint8Array(body),
      headers,
    });
    return { response, text: await response.text() };
  };

  test("names the encodings that the server knows, in the header", async () => {
    const headers = await grpc({ "grpc-encoding": "zstd" }, compressed);
    expect(headers).toMatchObject({ "grpc-status": "12", "grpc-accept-encoding": "gzip,br" });
    expect(headers["grpc-message"]).toMatch(/^Unimplemented: unknown compression "zstd"/);
    const web = await post({ "content-type": "application/grpc-web+proto", "grpc-encoding": "zstd" }, compressed);
    expect(web.response.headers.get("grpc-accept-encoding")).toBe("gzip,br");
    const connect = await post({ "content-type": "application/json", "content-encoding": "zstd" }, "{}");
    expect(connect.response.headers.get("accept-encoding")).toBe("gzip,br");
    expect(JSON.parse(connect.text)).toMatchObject({
      code: "unimplemented",
      message: expect.stringMatching(/^Unimplemented: unknown compression/),
      details: [{ type: "google.rpc.ErrorInfo" }],
    });
    const stream = { "content-type": "application/connect+json", "connect-content-encoding": "zstd" };
    const watch = await post(stream, compressed, "/grpc.health.v1.Health/Watch");
    expect(watch.response.headers.get("connect-accept-encoding")).toBe("gzip,br");
  });

  test.each([
    ["no message", Buffer.alloc(0), "12"],
    ["two messages", Buffer.concat([empty, empty]), "12"],
    ["half a message", empty.subarray(0, 3), "3"],
  ])("of %s has a prefix and details", async (_, body, code) => {
    const headers = await grpc({}, body);
    expect(headers["grpc-status"]).toBe(code);
    expect(headers["grpc-message"]).toMatch(/^(Unimplemented|Invalid argument): protocol error: /);
    expect(Buffer.from(headers["grpc-status-details-bin"]!, "base64").toString()).toContain("google.rpc.ErrorInfo");
  });

  test("of an unknown encoding in a GET has a body", async () => {
    const response = await platform().fetch(`${method}?encoding=xml&message=%7B%7D`);
    expect(response.status).toBe(415);
    expect((await response.json()) as Json).toMatchObject({ code: 3, details: [{ reason: "INVALID_ARGUMENT" }, {}] });
  });

  test("has the values of its message in its ErrorInfo", async () => {
    const { uid: group } = await makeGroup(platform(), "");
    const { token } = await makeMember(platform(), group, [Capability.CAP_TAG_LIST]);
    const info = async (
      name: string,
      request: Json,
      code: "NOT_FOUND" | "ALREADY_EXISTS" | "PERMISSION_DENIED",
      as?: string,
    ) => (await platform().refused(name, request, code, as === undefined ? {} : { as })).details[0]!.metadata;
    const repo = await makeRepo(platform(), group);
    const missing = freshUid(group);
    expect(await info("GetRepo", { uid: missing }, "NOT_FOUND")).toEqual({ kind: "Repo", resource: missing });
    const denied = await info("GetRepo", { uid: missing }, "PERMISSION_DENIED", token);
    expect(denied).toEqual({ capabilities: "CAP_REPO_LIST", scope: missing });
    const again = { parent: group, repo: { name: repo.name } };
    const conflict = `name ${JSON.stringify(repo.name)}`;
    expect(await info("CreateRepo", again, "ALREADY_EXISTS")).toEqual({ kind: "Repo", resource: repo.uid, conflict });
  });

  test.each([
    ["one field", { "x-large": "a".repeat(20_000) }],
    ["one field of several frames", { "x-large": "a".repeat(60_000) }],
    ["many fields", Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x-${i}`, "v".repeat(100)]))],
  ])("of metadata that is too large, in %s, is RESOURCE_EXHAUSTED", async (_, more) => {
    const headers = await grpc(more, empty);
    expect(headers).toMatchObject({ ":status": 200, "content-type": "application/grpc", "grpc-status": "8" });
    expect(headers["grpc-message"]).toMatch(/^Resource exhausted: the header of the request is larger than \d+ bytes/);
    expect(await grpc({}, empty)).toMatchObject({ "grpc-status": "0" });
  });
});
