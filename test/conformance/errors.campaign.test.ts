/** What the port answers to requests that are wrong, and what HTTP promises about those that are right. */
import { request as httpRequest } from "node:http";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Metadata } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import type { Json } from "./contract.ts";
import { freshName, freshUid, makeGroup, makeRepo } from "./fixtures.ts";
import { connectGrpc } from "./grpc-client.ts";
import { type CodeName, expectStatus, fieldsOf, type Status } from "./outcome.ts";
import { onCampaignServers, type Platform, protocols } from "./platform.ts";
import { readRest } from "./rest-client.ts";

interface RawAnswer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
}

/** A request that `fetch` would not make: any header, any bytes, nothing added, nothing decoded. */
function raw(
  platform: Platform,
  method: string,
  target: string,
  headers: Record<string, string> = {},
  body?: string | Buffer,
): Promise<RawAnswer> {
  const { hostname, port } = new URL(platform.baseUrl);
  const isChunked = body === undefined || "transfer-encoding" in headers;
  const length = isChunked ? {} : { "content-length": String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        hostname,
        port,
        method,
        path: target,
        headers: { authorization: `Bearer ${platform.admin}`, ...length, ...headers },
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
        );
        response.on("error", reject);
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

const json = { "content-type": "application/json" };

function expectRaw({ status, headers, body }: RawAnswer, httpStatus: number, code: CodeName, domain?: string): Status {
  expect([status, headers["content-type"]], body.toString()).toEqual([httpStatus, "application/json"]);
  expect(headers["x-request-id"]).toMatch(/./);
  expect(headers["cache-control"]).toBe("no-store");
  const parsed = JSON.parse(body.toString()) as Status;
  expectStatus(parsed, code, domain, [400, 401, 404].includes(httpStatus));
  return parsed;
}

onCampaignServers("routing", (platform) => {
  test.each([
    "/nope/",
    "/nope",
    "/iam/v2/nope",
    "/iam/v2beta1/groups",
    "/registry/v2beta1/repos",
    "/iam/v1/group",
    "/iam/v2beta1/groups",
    "/registry/v3/repos",
    "/ping/v1/ping",
    "//iam/v2/groups",
    "/iam/v2/../v2/groups",
    "/IAM/v2/groups",
    "/ping/v2/ping/",
    "/iam/v2/groups:nope",
    "/iam/v2/groups/nope:nope",
    `/registry/v2/repos/${"0".repeat(40)}:undelete`,
    `/registry/v2/repos/${"0".repeat(40)}/${"0".repeat(16)}:batchGet`,
    `/advisory/v2/documents/${"0".repeat(40)}:undelete`,
  ])("GET %s is not a path: a Status outside any domain", async (path) => {
    expectRaw(await raw(platform(), "GET", path), 404, "NOT_FOUND");
  });

  test("`**` swallows what follows a collection: nothing is an empty uid, a name is none", async () => {
    const empty = expectRaw(await raw(platform(), "GET", "/registry/v2/tags/"), 400, "INVALID_ARGUMENT", "registry");
    expect(fieldsOf(empty)).toEqual(["uid"]);
    for (const path of ["/iam/v2/groups/nope", "/iam/v2/groups/nope/readme", "/iam/v2/groups//"])
      expectRaw(await raw(platform(), "GET", path), 404, "NOT_FOUND", "iam");
  });

  test("no uid has an empty segment: a slash more is another name, which nothing has", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    const [root = "", id = ""] = uid.split("/");
    for (const name of [`${uid}/`, `/${uid}`, `${root}//${id}`, `${uid}//`, `${uid}%2F`]) {
      const path = `/registry/v2/repos/${name}`;
      expectRaw(await raw(platform(), "GET", path), 404, "NOT_FOUND", "registry");
      expectRaw(await raw(platform(), "GET", `${path}/readme`), 404, "NOT_FOUND", "registry");
      expectRaw(await raw(platform(), "DELETE", path), 404, "NOT_FOUND", "registry");
      expectRaw(await raw(platform(), "PATCH", path, json, "{}"), 404, "NOT_FOUND", "registry");
      expectRaw(await raw(platform(), "POST", path, json, '{"name":"below"}'), 404, "NOT_FOUND", "registry");
    }
    expect((await raw(platform(), "GET", `/registry/v2/repos/${uid}`)).status).toBe(200);
  });

  test("a colon that no verb begins is data where values have it", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    const digest = `sha256:${"0".repeat(64)}`;
    for (const [path, domain] of [
      ["/libraries/v2/artifacts/javascript:left-pad", "libraries"],
      [`/registry/v2/repos/${uid}/digests/${digest}/size`, "registry"],
    ] as const)
      expectRaw(await raw(platform(), "GET", path), 404, "NOT_FOUND", domain);
    const unknown = expectRaw(await raw(platform(), "DELETE", `/registry/v2/repos/${uid}:undelete`), 404, "NOT_FOUND");
    expect(unknown.details.map((detail: Json) => detail["@type"])).not.toContain(
      "type.googleapis.com/google.rpc.ResourceInfo",
    );
    expectRaw(await raw(platform(), "GET", `/registry/v2/repos/${uid}%3Aundelete`), 404, "NOT_FOUND", "registry");
  });

  test.each([
    ["PUT", "/registry/v2/repos", "GET"],
    ["POST", "/ping/v2/ping", "GET"],
    ["GET", "/iam/v2/roleBindings:batchCreate", "POST"],
    ["DELETE", "/iam/v2/identities:lookupIdentity", "GET"],
    ["PUT", `/registry/v2/repos/${"0".repeat(40)}`, "DELETE, GET, PATCH, POST"],
  ])("%s %s takes another verb", async (method, path, allowed) => {
    const answer = await raw(platform(), method, path, json, "{}");
    expectRaw(answer, 405, "UNIMPLEMENTED");
    const allow = String(answer.headers.allow).split(/, */);
    for (const verb of allowed.split(", ")) expect(allow).toContain(verb);
    expect(allow).not.toContain(method);
  });

  test("HEAD works where GET does: the same headers, no body", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    for (const target of [
      `/registry/v2/repos/${uid}`,
      "/ping/v2/ping",
      "/registry/v2/repos?page_size=1",
      "/nope",
      "/livez",
    ]) {
      const [get, head] = [await raw(platform(), "GET", target), await raw(platform(), "HEAD", target)];
      expect([head.status, head.body.length]).toEqual([get.status, 0]);
      for (const name of ["content-type", "etag", "cache-control"]) expect(head.headers[name]).toBe(get.headers[name]);
    }
    expectEmpty(await raw(platform(), "HEAD", "/iam/v2/groupInvites:accept"), 405);
  });

  test("a method that nobody knows", async () => {
    for (const type of ["application/json", "application/proto"]) {
      const answer = await raw(
        platform(),
        "POST",
        "/platform.iam.v2.GroupsService/Nope",
        { "content-type": type },
        "{}",
      );
      expect(JSON.parse(answer.body.toString()).code).toBe("unimplemented");
    }
  });
});

function expectEmpty(answer: RawAnswer, status: number): void {
  expect([answer.status, answer.body.length]).toEqual([status, 0]);
}

onCampaignServers("bodies", (platform) => {
  const post = (body: string | Buffer, headers: Record<string, string> = json) =>
    raw(platform(), "POST", `/registry/v2/repos/${platform().root}`, headers, body);
  const aRepo = () => JSON.stringify({ name: freshName() });

  test.each([
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    'application/json; charset="UTF-8"',
    "application/json;charset=utf8",
    "application/x-www-form-urlencoded",
  ])("a body of type %s is read as JSON", async (type) => {
    expect((await post(aRepo(), { "content-type": type })).status).toBe(200);
  });

  test("so is one without a type", async () => {
    expect((await post(aRepo(), {})).status).toBe(200);
  });

  test.each([
    "text/plain",
    "application/xml",
    "application/json; charset=latin1",
    "multipart/form-data; boundary=x",
    "application/proto",
  ])("a body of type %s is refused", async (type) => {
    expectRaw(await post(aRepo(), { "content-type": type }), 415, "INVALID_ARGUMENT", "registry");
  });

  test("an answer that is not JSON cannot be had", async () => {
    for (const accept of ["application/xml", "text/html", "application/json;q=0"])
      expectRaw(await raw(platform(), "GET", "/registry/v2/repos", { accept }), 406, "INVALID_ARGUMENT", "registry");
    for (const accept of ["*/*", "application/*", "text/html, application/json;q=0.1", "application/json"])
      expect((await raw(platform(), "GET", "/registry/v2/repos", { accept })).status).toBe(200);
  });

  test.each([
    ["nothing but a bracket", "{"],
    ["no JSON", "name=x"],
    ["an array", "[]"],
    ["a string", '"x"'],
    ["null", "null"],
    ["a trailing comma", '{"name":"x",}'],
    ["something after it", '{"name":"x"} x'],
    ["two values", '{"name":"x"}{}'],
    ["a byte order mark", '\ufeff{"name":"x"}'],
    ["a comment", '{"name":"x"/**/}'],
    ["single quotes", "{'name':'x'}"],
    ["NaN", '{"name":"x","catalogTier":NaN}'],
    ["a key twice", '{"name":"x","name":"x"}'],
    ["a key in both spellings", '{"name":"x","catalogTier":1,"catalog_tier":1}'],
    ["NUL", '{"name":"x","description":"a\\u0000b"}'],
    ["a lone surrogate", '{"name":"x","description":"\\ud800"}'],
    [
      "bytes that are not UTF-8",
      Buffer.from([...Buffer.from('{"name":"x","description":"'), 0xff, ...Buffer.from('"}')]),
    ],
    ["a number for a text", '{"name":1}'],
    ["a text for a list", '{"name":"x","bundles":"base"}'],
    ["null in a list", '{"name":"x","bundles":[null]}'],
    ["an enum of another name", '{"name":"x","catalogTier":"GOLD"}'],
    ["101 levels", `{"name":"x","syncConfig":${'{"a":'.repeat(101)}1${"}".repeat(101)}}`],
    ["very many levels", "[".repeat(200_000)],
  ])("with %s: INVALID_ARGUMENT", async (_, body) => {
    expectRaw(await post(body), 400, "INVALID_ARGUMENT", "registry");
  });

  test.each([
    ['{"nope":1}', "nope"],
    ['{"syncConfig":{"nope":1}}', "sync_config.nope"],
    ['{"readme":"x"}', "readme"],
    ['{"name":"x","Name":"y"}', "Name"],
  ])("an unknown key is named by its path: %s", async (body, path) => {
    const status = expectRaw(await post(body), 400, "INVALID_ARGUMENT", "registry");
    expect(fieldsOf(status)).toEqual([path]);
  });

  test("keys in both spellings, enums by name or number", async () => {
    for (const tier of ["1", '"CATALOG_TIER_APPLICATION"']) {
      const answer = await post(`{"name":"${freshName()}","catalog_tier":${tier},"active_tags":["x"]}`);
      expect(JSON.parse(answer.body.toString())).toMatchObject({
        catalogTier: "CATALOG_TIER_APPLICATION",
        activeTags: ["x"],
      });
    }
  });

  test("the largest body is 1 MiB", async () => {
    const padded = (bytes: number) => {
      const body = aRepo();
      return body + " ".repeat(bytes - body.length);
    };
    expect((await post(padded(1024 * 1024))).status).toBe(200);
    expectRaw(await post(padded(1024 * 1024 + 1)), 413, "RESOURCE_EXHAUSTED", "registry");
  });

  test("a body of unknown length is held to it too", async () => {
    const answer = await post(Buffer.alloc(1024 * 1024 + 1, " "), { ...json, "transfer-encoding": "chunked" });
    expectRaw(answer, 413, "RESOURCE_EXHAUSTED", "registry");
  });

  test.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
  ] as const)("%s: a body is unpacked, and held to the same size", async (encoding, compress) => {
    const headers = { ...json, "content-encoding": encoding };
    expect((await post(compress(aRepo() + " ".repeat(2000)), headers)).status).toBe(200);
    const bomb = compress(Buffer.alloc(64 * 1024 * 1024, " "));
    expect(bomb.length).toBeLessThan(1024 * 1024);
    expectRaw(await post(bomb, headers), 413, "RESOURCE_EXHAUSTED", "registry");
    expectRaw(await post(Buffer.from("not compressed"), headers), 400, "INVALID_ARGUMENT", "registry");
  });

  test("an unknown encoding is refused", async () => {
    expectRaw(await post(aRepo(), { ...json, "content-encoding": "zstd" }), 415, "INVALID_ARGUMENT", "registry");
  });

  test("a method without a body takes none", async () => {
    const answer = await raw(platform(), "GET", "/registry/v2/repos", json, '{"name":"x"}');
    expectRaw(answer, 400, "INVALID_ARGUMENT", "registry");
  });
});

onCampaignServers("queries and paths", (platform) => {
  test.each([
    ["nope=1", "nope"],
    ["uidp.nope=1", "uidp.nope"],
    ["Name=x", "Name"],
  ])("an unknown parameter is named: %s", async (query, field) => {
    const status = expectRaw(
      await raw(platform(), "GET", `/registry/v2/repos?${query}`),
      400,
      "INVALID_ARGUMENT",
      "registry",
    );
    expect(fieldsOf(status)).toEqual([field]);
  });

  test.each([
    "page_size=1&page_size=2",
    "page_size=1&pageSize=1",
    "page_size=x",
    "page_size=1e2",
    "page_size=1.0",
    "page_size=2147483648",
    "page_size=",
    "name=%zz",
    "name=%ff",
    "name=%00",
    "uidp=1",
    "uidp.in_root=yes",
  ])("%s is refused", async (query) => {
    expectRaw(await raw(platform(), "GET", `/registry/v2/repos?${query}`), 400, "INVALID_ARGUMENT", "registry");
  });

  test("a parameter for what the path or the body says is refused", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    expectRaw(
      await raw(platform(), "GET", `/registry/v2/repos/${uid}?uid=${uid}`),
      400,
      "INVALID_ARGUMENT",
      "registry",
    );
    const patch = await raw(platform(), "PATCH", `/registry/v2/repos/${uid}?repo.name=x`, json, "{}");
    expectRaw(patch, 400, "INVALID_ARGUMENT", "registry");
  });

  test("malformed escapes of a path", async () => {
    for (const path of ["/registry/v2/repos/%zz", "/registry/v2/repos/%ff", "/registry/v2/repos/%"])
      expect((await raw(platform(), "GET", path)).status).toBe(400);
  });

  test("a long URL is 414, long headers are 431", async () => {
    expectRaw(await raw(platform(), "GET", `/registry/v2/repos?name=${"x".repeat(9000)}`), 414, "INVALID_ARGUMENT");
    const answer = await raw(platform(), "GET", "/registry/v2/repos", { "x-long": "x".repeat(20_000) });
    expect(answer.status).toBe(431);
    expectStatus(JSON.parse(answer.body.toString()), "RESOURCE_EXHAUSTED", undefined);
  });
});

onCampaignServers("headers", (platform) => {
  test("a valid x-request-id is echoed, another is replaced", async () => {
    for (const [given, isEchoed] of [
      ["abc-123.X:y_z", true],
      ["x".repeat(128), true],
      ["x".repeat(129), false],
      ["with space", false],
      ['"quoted"', false],
      ["", false],
    ] as const)
      for (const target of ["/ping/v2/ping", "/nope"]) {
        const { headers } = await raw(platform(), "GET", target, { "x-request-id": given });
        if (isEchoed) expect(headers["x-request-id"]).toBe(given);
        else expect(headers["x-request-id"]).toMatch(/^[\w-]{8,}$/);
      }
    const outcome = await platform().call("Ping", {}, { over: "connect", headers: { "x-request-id": "mine" } });
    expect(outcome.header("x-request-id")).toBe("mine");
  });

  test("401 says how to authenticate", async () => {
    const answer = await raw(platform(), "GET", "/iam/v2/groups", { authorization: "" });
    expectRaw(answer, 401, "UNAUTHENTICATED", "iam");
    expect(answer.headers["www-authenticate"]).toBe("Bearer");
  });

  test("an answer over 1 KiB is compressed for whoever takes it, a smaller one is not", async () => {
    const { uid: parent } = await makeGroup(platform());
    for (let i = 0; i < 10; i++) await makeRepo(platform(), parent);
    const target = `/registry/v2/repos?uidp.children_of=${parent}`;
    const plain = await raw(platform(), "GET", target, { "accept-encoding": "identity" });
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.body.length).toBeGreaterThan(1024);
    for (const [accept, encoding, expand] of [
      ["gzip", "gzip", gunzipSync],
      ["br", "br", brotliDecompressSync],
      ["gzip;q=0.5, br;q=1", "br", brotliDecompressSync],
      ["gzip;q=1, br;q=0.5", "gzip", gunzipSync],
    ] as const) {
      const packed = await raw(platform(), "GET", target, { "accept-encoding": accept });
      expect([accept, packed.headers["content-encoding"]]).toEqual([accept, encoding]);
      expect(String(packed.headers.vary).toLowerCase()).toContain("accept-encoding");
      expect(expand(packed.body).equals(plain.body)).toBe(true);
    }
    for (const accept of ["gzip;q=0", "zstd", ""])
      expect(
        (await raw(platform(), "GET", target, { "accept-encoding": accept })).headers["content-encoding"],
      ).toBeUndefined();
    const small = await raw(platform(), "GET", "/ping/v2/ping", { "accept-encoding": "gzip, br" });
    expect(small.headers["content-encoding"]).toBeUndefined();
  });

  test("liveness and readiness are open", async () => {
    for (const path of ["/livez", "/readyz"]) expect((await fetch(`${platform().baseUrl}${path}`)).status).toBe(200);
  });
});

onCampaignServers("JSON of answers", (platform) => {
  test("defaults are shown, unset messages are not, times have three digits, counts are strings", async () => {
    const { uid } = await makeGroup(platform());
    const text = await (await platform().fetch(`/registry/v2/repos?uidp.children_of=${uid}`)).text();
    expect(text).toBe('{"repos":[],"totalCount":"0","skipped":0}');
    const repo = await makeRepo(platform(), uid, { syncConfig: { source: "x" } });
    expect(Object.keys(repo)).toContain("syncConfig");
    for (const time of [repo.createTime, repo.updateTime]) expect(time).toMatch(/^[\d-]+T[\d:]+\.\d{3}Z$/);
  });

  test("DELETE answers 200 without a byte", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    const answer = await raw(platform(), "DELETE", `/registry/v2/repos/${uid}`);
    expect([answer.status, answer.body.length, answer.headers["content-length"]]).toEqual([200, 0, "0"]);
  });
});

describe.each(["rest", "grpc", "connect"] as const)("deadlines over %s", (over) => {
  onCampaignServers("a deadline", (platform) => {
    test("that has passed is DEADLINE_EXCEEDED and leaves nothing", async () => {
      const name = freshName();
      const request = { parent: platform().root, repo: { name } };
      const headers = {
        rest: { "x-server-timeout": "0" },
        grpc: { "grpc-timeout": "1n" },
        connect: { "connect-timeout-ms": "0" },
      }[over] as Record<string, string>;
      const outcome = await platform().call("CreateRepo", request, { over, headers });
      expect(outcome).toMatchObject({ ok: false, status: { code: 4 } });
      if (!outcome.ok && over !== "grpc") expectStatus(outcome.status, "DEADLINE_EXCEEDED", "registry");
      expect((await platform().read("ListRepos", { name })).totalCount).toBe("0");
    });

    test("that is long is kept", async () => {
      await platform().ok("ListRepos", {}, { over, timeoutMs: 20_000 });
    });
  });
});

onCampaignServers("malformed deadlines", (platform) => {
  test.each(["x", "-1", "1s", ""])("x-server-timeout: %j", async (value) => {
    const answer = await raw(platform(), "GET", "/registry/v2/repos", { "x-server-timeout": value });
    expectRaw(answer, 400, "INVALID_ARGUMENT", "registry");
  });
});

onCampaignServers("oversized messages", (platform) => {
  test.each(["grpc", "connect", "grpc-web", "connect binary over HTTP/2"] as const)(
    "over %s are refused, and the connection goes on",
    async (over) => {
      for (const bytes of [1024 * 1024 + 1, 3_000_000]) {
        const request = { parent: platform().root, repo: { name: "x", description: "x".repeat(bytes) } };
        const outcome = await platform().call("CreateRepo", request, { over });
        expect(outcome).toMatchObject({
          ok: false,
          status: { code: 8, details: [{ reason: "RESOURCE_EXHAUSTED" }, { violations: [{}] }] },
        });
        await platform().ok("Ping", {}, { over, timeoutMs: 2000 });
      }
    },
  );
});

onCampaignServers("gRPC and Connect", (platform) => {
  test.each(["grpc-web", "grpc-web over HTTP/2", "connect binary over HTTP/2", "connect GET"] as const)(
    "%s answers and refuses as the others do",
    async (over) => {
      const repo = await makeRepo(platform(), platform().root);
      expect(await platform().ok("GetRepo", { uid: repo.uid }, { over })).toEqual(repo);
      const missing = { uid: freshUid(platform().root) };
      const expected = await platform().refused("GetRepo", missing, "NOT_FOUND");
      const outcome = await platform().call("GetRepo", missing, { over });
      expect(outcome.ok ? outcome.message : outcome.status).toEqual(expected);
      const stranger = await platform().call("GetRepo", missing, { over, as: null });
      expect(stranger.ok ? stranger.message : stranger.status).toEqual(
        await platform().refused("GetRepo", missing, "UNAUTHENTICATED", { as: null }),
      );
    },
  );

  test("NUL in a text is refused on every protocol", async () => {
    const { uid } = await makeRepo(platform(), platform().root);
    for (const [method, request, field] of [
      ["CreateRepo", { parent: platform().root, repo: { name: freshName(), description: "a\0b" } }, "description"],
      ["UpdateRepo", { repo: { uid, bundles: ["a\0b"] } }, "bundles[0]"],
      ["ListRepos", { name: "a\0b" }, "name"],
      ["ListRepos", { uidp: { ids: [`${uid}\0`] } }, "uidp.ids[0]"],
    ] as const)
      for (const over of protocols) {
        const outcome = await platform().call(method, request, { over });
        if (outcome.ok) throw new Error(`${method} over ${over} is not refused`);
        expectStatus(outcome.status, "INVALID_ARGUMENT", "registry");
        // REST refuses a body while it reads the JSON, before there is a field.
        if (over !== "rest") expect(fieldsOf(outcome.status)).toContain(field);
      }
    expect((await platform().read("GetRepo", { uid })).bundles).toEqual([]);
  });

  test("a message that cannot be decoded is the caller's fault", async () => {
    const answer = await raw(
      platform(),
      "POST",
      "/platform.registry.v2.ReposService/GetRepo",
      { "content-type": "application/proto" },
      Buffer.from([0xff, 0xff, 0xff]),
    );
    expect([answer.status, JSON.parse(answer.body.toString()).code]).toEqual([400, "invalid_argument"]);
  });

  test("grpc-message is what the status says, for clients that look at nothing else", async () => {
    const client = connectGrpc(platform().baseUrl);
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${platform().admin}`);
    const error = await new Promise<{ details: string } | null>((resolve) => {
      client.makeUnaryRequest(
        "/platform.registry.v2.ReposService/GetRepo",
        () => Buffer.alloc(0),
        (bytes) => bytes,
        {},
        metadata,
        (failure) => resolve(failure),
      );
    });
    client.close();
    expect(error?.details).toBe("Invalid argument: uid: is required");
  });

  test("a typed Connect client over HTTP/1.1 and HTTP/2", async () => {
    for (const httpVersion of ["1.1", "2"] as const) {
      const transport = createConnectTransport({ baseUrl: platform().baseUrl, httpVersion });
      const headers = { authorization: `Bearer ${platform().admin}` };
      const page = await createClient(ReposService, transport).listRepos({ pageSize: 1 }, { headers });
      expect(page.totalCount).toBeTypeOf("bigint");
    }
  });

  test("nothing internal leaves", async () => {
    const answers: Json[] = [];
    for (const target of [
      "/registry/v2/repos?page_token=x",
      "/registry/v2/repos?order_by=x",
      "/iam/v2/groups/x",
      "/nope",
    ])
      answers.push(await readRest(await platform().fetch(target)));
    expect(JSON.stringify(answers)).not.toMatch(/node_modules|\.ts|select |sqlite|postgres|Error:/i);
  });
});

onCampaignServers(
  "another service host",
  (platform) => {
    test("names domains and resource types", async () => {
      const uid = freshUid(platform().root);
      const outcome = await platform().call("GetRepo", { uid });
      expect(outcome).toMatchObject({
        ok: false,
        status: {
          details: [
            { domain: "registry.api.example.com" },
            { resourceType: "registry.api.example.com/Repo", resourceName: uid },
          ],
        },
      });
      expect(await (await platform().fetch("/nope")).json()).toMatchObject({
        details: [{ domain: "api.example.com" }],
      });
    });
  },
  { serviceHost: "api.example.com" },
);

onCampaignServers(
  "CORS",
  (platform) => {
    test("answers preflights of the origins it knows", async () => {
      const preflight = (origin: string) =>
        fetch(`${platform().baseUrl}/registry/v2/repos`, {
          method: "OPTIONS",
          headers: {
            origin,
            "access-control-request-method": "GET",
            "access-control-request-headers": "authorization",
          },
        });
      const known = await preflight("https://app.example.com");
      expect(known.ok).toBe(true);
      expect(known.headers.get("access-control-allow-origin")).toBe("https://app.example.com");
      expect((await preflight("https://evil.example.com")).headers.get("access-control-allow-origin")).toBeNull();
    });
  },
  { corsOrigins: ["https://app.example.com"] },
);
