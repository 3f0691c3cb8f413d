/**
 * The official gRPC-Web client in a browser, in text mode, which is its default, and in binary mode; and the text form
 * by hand.
 */
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ListReposRequestSchema, ListReposResponseSchema } from "../../gen/platform/registry/v2/repos_pb.ts";
import { closePages, hasBrowser, sharedBrowser } from "./chromium.ts";
import { freshUid, makeGroup, makeRepo } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

const folder = join(import.meta.dirname, "../..");

/** What the page does: it calls as generated code of the official client would. */
const program = `
  import { GrpcWebClientBase, MethodDescriptor, MethodType } from "grpc-web";
  import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
  import { HealthCheckRequestSchema } from "./gen/grpc/health/v1/health_pb.ts";
  import { GetRepoRequestSchema, RepoSchema } from "./gen/platform/registry/v2/repos_pb.ts";

  const unary = new MethodDescriptor(
    "/platform.registry.v2.ReposService/GetRepo", MethodType.UNARY, Object, Object,
    (request) => toBinary(GetRepoRequestSchema, request),
    (bytes) => fromBinary(RepoSchema, bytes),
  );
  export async function getRepo(baseUrl, token, uid, options) {
    const client = new GrpcWebClientBase(options);
    const request = create(GetRepoRequestSchema, { uid });
    try {
      const repo = await client.unaryCall(baseUrl + unary.name, request, { authorization: "Bearer " + token }, unary);
      return toJson(RepoSchema, repo);
    } catch ({ code, message }) {
      return { code, message };
    }
  }

  const watch = new MethodDescriptor(
    "/grpc.health.v1.Health/Watch", MethodType.SERVER_STREAMING, Object, Object,
    (request) => toBinary(HealthCheckRequestSchema, request),
    (bytes) => bytes[1],
  );
  export function watchHealth(baseUrl) {
    const client = new GrpcWebClientBase({ format: "text" });
    return new Promise((resolve, reject) => {
      const stream = client.serverStreaming(baseUrl + watch.name, create(HealthCheckRequestSchema), {}, watch);
      stream.on("data", (status) => {
        stream.cancel();
        resolve(status);
      });
      stream.on("error", reject);
    });
  }
`;

onEveryServer("gRPC-Web", (platform) => {
  const list = "/platform.registry.v2.ReposService/ListRepos";
  const empty = Buffer.from([0, 0, 0, 0, 0]);
  const call = async (type: string, body: string, headers: Record<string, string> = {}) => {
    const response = await platform().fetch(list, {
      method: "POST",
      body,
      headers: { "content-type": type, ...headers },
    });
    return { response, frames: framesOf(await response.text()) };
  };

  test.each(["application/grpc-web-text", "application/grpc-web-text+proto"])("answers %s in kind", async (type) => {
    const { response, frames } = await call(type, empty.toString("base64"));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/grpc-web-text+proto");
    const [message, trailers] = frames;
    expect(fromBinary(ListReposResponseSchema, message!.content).skipped).toBe(0);
    expect(trailers).toMatchObject({ flags: 0x80 });
    expect(trailers!.content.toString()).toContain("grpc-status: 0");
  });

  test("reads pieces of base64, each with its padding", async () => {
    const request = toBinary(ListReposRequestSchema, create(ListReposRequestSchema, { skip: 7 }));
    const head = Buffer.from([0, 0, 0, 0, request.length]);
    const { frames } = await call(
      "application/grpc-web-text",
      head.toString("base64") + Buffer.from(request).toString("base64"),
    );
    expect(fromBinary(ListReposResponseSchema, frames[0]!.content).skipped).toBe(7);
  });

  test.each(["AAAAAAA", "AAAA*AA=", "A"])("refuses %s, which is not base64", async (body) => {
    const { frames } = await call("application/grpc-web-text", body);
    const trailers = frames.at(-1)!.content.toString();
    expect(trailers).toContain("grpc-status: 3");
    expect(decodeURIComponent(trailers)).toContain("Invalid argument: the body is not valid base64");
  });

  test("has errors in the same form", async () => {
    const type = "application/grpc-web-text";
    const { frames } = await call(type, empty.toString("base64"), { authorization: "" });
    expect(frames.at(-1)!.content.toString()).toMatch(/grpc-status: 16\r\n/);
    const headers = { "content-type": type };
    const path = "/platform.registry.v2.ReposService/Nope";
    const unknown = await platform().fetch(path, { method: "POST", body: "AAAAAAA=", headers });
    expect([unknown.headers.get("content-type"), unknown.headers.get("grpc-status")]).toEqual([type, "12"]);
  });

  describe.runIf(hasBrowser)("from the official client", () => {
    let page: Page;

    beforeAll(async () => {
      const stdin = { contents: program, resolveDir: folder };
      const { outputFiles } = await build({ stdin, bundle: true, write: false, format: "iife", globalName: "client" });
      page = await (await sharedBrowser()).newPage();
      await page.goto(`${platform().baseUrl}/livez`);
      await page.evaluate(`${outputFiles[0]!.text}; globalThis.client = client`);
    });
    afterAll(closePages);

    const getRepo = (uid: string, options: object): Promise<unknown> =>
      page.evaluate(`client.getRepo(${JSON.stringify(platform().baseUrl)}, ${JSON.stringify(platform().admin)},
        ${JSON.stringify(uid)}, ${JSON.stringify(options)})`);

    test.each([[{}], [{ format: "text" }], [{ format: "binary" }]])("with %j", async (options) => {
      const { uid: group } = await makeGroup(platform(), "");
      const repo = await makeRepo(platform(), group, { description: "über 😀" });
      expect(await getRepo(repo.uid, options)).toMatchObject({
        uid: repo.uid,
        name: repo.name,
        description: "über 😀",
      });
      const missing = freshUid(group);
      expect(await getRepo(missing, options)).toEqual({ code: 5, message: expect.stringContaining(missing) });
    });

    test("as a stream", async () => {
      expect(await page.evaluate(`client.watchHealth(${JSON.stringify(platform().baseUrl)})`)).toBe(1);
    });
  });
});

/** The frames of a body that consists of pieces of base64. */
function framesOf(text: string): { readonly flags: number; readonly content: Buffer }[] {
  const pieces = text.match(/[^=]+=*/g) ?? [];
  const bytes = Buffer.concat(pieces.map((piece) => Buffer.from(piece, "base64")));
  const frames = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at + 1);
    frames.push({ flags: bytes[at]!, content: bytes.subarray(at + 5, at + 5 + length) });
    at += 5 + length;
  }
  return frames;
}
