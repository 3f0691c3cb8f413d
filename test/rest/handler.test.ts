/** The handler on real servers, HTTP/1.1 and HTTP/2, over an in-process Transport. */
import type { Server } from "node:http";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { clone, create as createMessage } from "@bufbuild/protobuf";
import { anyPack, DurationSchema, FieldDescriptorProto_Label, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { createRestHandler, fromRouter, type RestOptions } from "../../src/rest/index.ts";
import { type Call, type Client, exchange, fastPathClient, http1Client, http2Client, json } from "../http/clients.ts";
import { type Any, compile, fileProto } from "./fixture.ts";
import { handlerWith, seen } from "./service.ts";

describe.each([
  ["HTTP/1.1", http1Client],
  ["HTTP/2", http2Client],
  ["HTTP/2, fast path", fastPathClient],
] as const)("%s", (protocol, createClient) => {
  let client: Client;
  let call: Client["call"];
  beforeAll(async () => {
    client = await createClient(handlerWith());
    call = client.call;
  });
  afterAll(() => client.close());

  describe("answers", () => {
    test("a message as JSON with its length", async () => {
      const { status, headers, json: repo } = await call("/v1/repos/a/b");
      expect(status).toBe(200);
      expect(repo).toEqual({
        uid: "a/b",
        name: "",
        description: "",
        total: "0",
        kind: "KIND_UNSPECIFIED",
        tags: [],
        labels: {},
        deprecated: false,
      });
      expect(headers).toMatchObject({
        "content-type": "application/json",
        etag: '"1"',
        "x-many": "a, b",
        vary: "Accept-Encoding",
      });
      expect(Number(headers["content-length"])).toBeGreaterThan(50);
    });

    test("an Empty with nothing", async () => {
      const { status, headers, text } = await call("/v1/repos/a", { method: "DELETE" });
      expect([status, text, headers["content-length"], headers["content-type"]]).toEqual([200, "", "0", undefined]);
    });

    test.each([
      ["/v1/repos/a/readme", '"# Hello"'],
      ["/v1/repos/empty/readme", '""'],
      ["/v1/repos/a/tags", "[]"],
    ])("response_body of %s is %s", async (path, expected) => {
      expect((await call(path)).text).toBe(expected);
    });

    test("a HttpBody raw, whatever the client accepts", async () => {
      const { headers, text } = await call("/v1/files/a", {
        headers: { accept: "text/markdown", "accept-encoding": "gzip" },
      });
      expect([headers["content-type"], headers["content-encoding"], text.length]).toEqual([
        "text/markdown",
        undefined,
        5000,
      ]);
    });

    test("HEAD as GET, without the body", async () => {
      const get = await call("/v1/repos/a");
      const head = await call("/v1/repos/a", { method: "HEAD" });
      const { date: _, ...headers } = get.headers;
      expect(head.headers).toMatchObject(headers);
      expect([head.status, head.text]).toEqual([200, ""]);
      const missing = await call("/nope", { method: "HEAD" });
      expect([missing.status, missing.text, missing.headers["content-type"]]).toEqual([404, "", "application/json"]);
    });

    test("trailers of a call as headers, binary ones as they are", async () => {
      expect((await call("/v1/repos/a")).headers["x-data-bin"]).toBe("AQI");
    });
  });

  describe("requests", () => {
    test("query", async () => {
      await call("/v1/repos?uidp.descendants_of=a%2Fb&uidp.ids=1&uidp.ids=2&pageSize=3&order_by=name+desc");
      expect(seen.message).toMatchObject({
        uidp: { descendantsOf: "a/b", ids: ["1", "2"] },
        pageSize: 3,
        orderBy: "name desc",
      });
    });

    test("path variables of every kind", async () => {
      await call("/v1/layers/sha256:1/42/KIND_AUDIO");
      expect(seen.message).toMatchObject({ digest: "sha256:1", number: 42, kind: 2 });
      await call("/v1/layers/a/b/digests/sha256:1/size");
      expect(seen.message).toMatchObject({ uid: "a/b", digest: "sha256:1" });
    });

    test("a field as the body; the path wins over it", async () => {
      await call("/v1/repos/group", json({ name: "n", claim_match: { subject: "s" } }));
      expect(seen.message).toMatchObject({ parent: "group", repo: { name: "n", claimMatch: { subject: "s" } } });
      await call("/v1/repos/real", json({ uid: "other", name: "n" }, "PATCH"));
      expect(seen.message.repo).toMatchObject({ uid: "real", name: "n" });
      await call("/v1/echo/outer/child", json({ stringValue: "inner" }));
      expect(seen.message).toMatchObject({ stringValue: "outer", child: { stringValue: "inner" } });
    });

    test("the whole message as the body; the path wins over it", async () => {
      await call("/v1/repos/a/b:move", json({ uid: "other", target: "t", force: true }));
      expect(seen.message).toMatchObject({ uid: "a/b", target: "t", force: true });
    });

    test("an empty body is an empty message", async () => {
      await call("/v1/repos/a", { method: "POST" });
      expect(seen.message).toMatchObject({ parent: "a", repo: { name: "" } });
      await call("/v1/repos/a:move", { method: "POST", body: "" });
      expect(seen.message).toMatchObject({ uid: "a", target: "" });
      await call("/v1/echo/value", { method: "POST" });
      expect(seen.message.value).toBeUndefined();
    });

    test("null as the body of a Value is a value", async () => {
      expect((await call("/v1/echo/value", json("null"))).json.value).toBe(null);
      expect(seen.message.value).toMatchObject({ kind: { case: "nullValue" } });
    });

    test("a HttpBody raw, of any type, and back as response_body", async () => {
      const answer = await call("/v1/files/a", {
        method: "PUT",
        headers: { "content-type": "image/x-odd" },
        body: new Uint8Array([0, 255, 1]),
      });
      expect(answer.headers["content-type"]).toBe("image/x-odd");
      expect(answer.body).toEqual(Buffer.from([0, 255, 1]));
      expect(seen.message.uid).toBe("a");
    });

    test.each([undefined, "application/json", "application/json; charset=UTF8", "application/x-www-form-urlencoded"])(
      "content type %s",
      async (type) => {
        const headers = type === undefined ? {} : { "content-type": type };
        expect((await call("/v1/repos/a", { method: "POST", headers, body: '{"name":"n"}' })).json.name).toBe("n");
      },
    );

    test("a chunked body", async () => {
      expect((await call("/v1/repos/a", { ...json({ name: "n" }), chunked: true })).json.name).toBe("n");
    });

    test("an empty chunked body where none belongs", async () => {
      expect((await call("/v1/repos/a", { body: "", chunked: true })).status).toBe(200);
    });

    test("headers pass, but not those of the hop and the content", async () => {
      const hop: Record<string, string> = protocol === "HTTP/1.1" ? { connection: "x-hop, close", "x-hop": "1" } : {};
      await call("/v1/repos/a", {
        headers: { authorization: "Bearer t", "if-match": '"1"', "accept-encoding": "gzip", ...hop },
      });
      const header = seen.context!.requestHeader;
      expect([header.get("authorization"), header.get("if-match")]).toEqual(["Bearer t", '"1"']);
      expect([header.get("x-hop"), header.get("connection"), header.get("transfer-encoding")]).toEqual([
        null,
        null,
        null,
      ]);
    });

    test("x-server-timeout is the deadline", async () => {
      await call("/v1/repos/a", { headers: { "x-server-timeout": "1000.5" } });
      expect(seen.context!.timeoutMs()).toBeGreaterThan(900_000);
      await call("/v1/repos/a", { headers: { "x-server-timeout": "999999999999" } });
      expect(seen.context!.timeoutMs()).toBeGreaterThan(2_000_000_000);
      const late = await call("/v1/images/x:undelete", { method: "POST", headers: { "x-server-timeout": "0.01" } });
      expect([late.status, late.json.code]).toEqual([504, Code.DeadlineExceeded]);
      const malformed = await call("/v1/repos/a", { headers: { "x-server-timeout": "1s" } });
      expect([malformed.status, malformed.json.message]).toEqual([
        400,
        "Invalid argument: x-server-timeout: must be a decimal number of seconds",
      ]);
    });
  });

  describe("the implied mask of a PATCH", () => {
    const paths = async (query: string, body: string) => {
      const { status, text } = await call(`/v1/repos/a${query}`, json(body, "PATCH"));
      expect([status, text.slice(0, 1)]).toEqual([200, "{"]);
      return seen.message.updateMask?.paths;
    };

    test.each([
      ["", '{"description":""}', ["description"]],
      [
        "",
        '{"name":"n","claimMatch":{"subject":"s"},"tags":[],"labels":{"a":"b"}}',
        ["name", "claim_match.subject", "tags", "labels"],
      ],
      ["", '{"claim_match":{},"createTime":null}', ["claim_match", "create_time"]],
      ["", '{"uid":"other","name":"n"}', ["name"]],
      ["", "{}", []],
      ["?updateMask=", '{"name":"n"}', ["name"]],
      ["?updateMask=description", '{"name":"n"}', ["description"]],
      ["?update_mask=claimMatch.subject,create_time", '{"name":"n"}', ["claim_match.subject", "create_time"]],
      ["?updateMask=*", '{"name":"n"}', ["*"]],
    ])("%s %s", async (query, body, expected) => {
      expect(await paths(query, body)).toEqual(expected);
    });

    test("an empty body speaks of nothing", async () => {
      await call("/v1/repos/a", { method: "PATCH" });
      expect(seen.message.updateMask.paths).toEqual([]);
    });

    test("a POST has none", async () => {
      await call("/v1/repos/a", json({ name: "n" }));
      expect("updateMask" in seen.message).toBe(false);
    });
  });

  describe("refusals", () => {
    test.each<[string, string, Call, number, number, string]>([
      ["unknown path", "/nope", {}, 404, 5, "Not found: no method has this path"],
      [
        "wrong method",
        "/v1/repos/a",
        { method: "PUT" },
        405,
        12,
        "Method not allowed: this path takes DELETE, GET, HEAD, PATCH, POST",
      ],
      ["verb under another method", "/v1/images/1:undelete", {}, 405, 12, "Method not allowed: this path takes POST"],
      ["long URL", `/v1/repos/${"a".repeat(9000)}`, {}, 414, 3, "Invalid argument: the URL is longer than 8192 bytes"],
      [
        "Accept",
        "/v1/repos/a",
        { headers: { accept: "text/html" } },
        406,
        3,
        "Invalid argument: this method answers with application/json",
      ],
      [
        "content type",
        "/v1/repos/a",
        { ...json("{}"), headers: { "content-type": "text/plain" } },
        415,
        3,
        "Invalid argument: the body must be application/json in UTF-8",
      ],
      [
        "content encoding",
        "/v1/repos/a",
        { ...json("{}"), headers: { "content-encoding": "deflate" } },
        415,
        3,
        "Invalid argument: unsupported content encoding",
      ],
      ["body on GET", "/v1/repos/a", { body: "{}" }, 400, 3, "Invalid argument: this method takes no body"],
      [
        "chunked body on DELETE",
        "/v1/repos/a",
        { method: "DELETE", body: "{}", chunked: true },
        400,
        3,
        "Invalid argument: this method takes no body",
      ],
      ["malformed path", "/v1/repos/%zz", {}, 400, 3, "Invalid argument: uid: malformed escape or text in the path"],
      ["path not UTF-8", "/v1/repos/%ff", {}, 400, 3, "Invalid argument: uid: malformed escape or text in the path"],
      [
        "path value",
        "/v1/layers/d/x/KIND_NOPE",
        {},
        400,
        3,
        "Invalid argument: number: must be an integer from -2147483648 to 2147483647; kind: must be one of KIND_UNSPECIFIED, KIND_PAPER, KIND_AUDIO",
      ],
      ["required field empty", "/v1/repos/", {}, 400, 3, "Invalid argument: uid: is required"],
      ["unknown parameter", "/v1/repos?nme=x", {}, 400, 3, "Invalid argument: nme: unknown parameter"],
      [
        "parameter against body",
        "/v1/repos/a?repo.name=x",
        json("{}"),
        400,
        3,
        "Invalid argument: repo.name: is already given by the body",
      ],
      [
        "unknown field",
        "/v1/repos/a",
        json({ nme: 1, claimMatch: { x: 1 } }),
        400,
        3,
        "Invalid argument: nme: unknown field; claim_match.x: unknown field",
      ],
      ["malformed JSON", "/v1/repos/a", json("{"), 400, 3, "Invalid argument: malformed JSON: unexpected end"],
      [
        "duplicate key",
        "/v1/repos/a",
        json('{"name":"a","name":"b"}'),
        400,
        3,
        "Invalid argument: malformed JSON: duplicate key at position 12",
      ],
      [
        "both spellings",
        "/v1/repos/a",
        json('{"claimMatch":{},"claim_match":{}}'),
        400,
        3,
        "Invalid argument: claim_match: given twice, as claim_match and claimMatch",
      ],
      ["not an object", "/v1/repos/a", json("[]"), 400, 3, "Invalid argument: must be an object"],
      ["null", "/v1/repos/a", json("null"), 400, 3, "Invalid argument: the body must not be null"],
      [
        "byte order mark",
        "/v1/repos/a",
        json("\ufeff{}"),
        400,
        3,
        'Invalid argument: malformed JSON: unexpected "\ufeff" at position 0',
      ],
      [
        "not UTF-8",
        "/v1/repos/a",
        { ...json("{}"), body: new Uint8Array([0x22, 0xff, 0x22]) },
        400,
        3,
        "Invalid argument: malformed JSON: malformed UTF-8",
      ],
      [
        "damaged gzip",
        "/v1/repos/a",
        { ...json("{}"), headers: { "content-encoding": "gzip" } },
        400,
        3,
        "Invalid argument: the body is not valid gzip",
      ],
    ])("%s", async (_, path, request, status, code, message) => {
      const answer = await call(path, request);
      expect([answer.status, answer.json?.code, answer.json?.message]).toEqual([status, code, message]);
      expect(answer.headers["content-type"]).toBe("application/json");
      expect(answer.json.details).toBeInstanceOf(Array);
    });

    test("carry what helps: Allow, Accept, Accept-Encoding, a BadRequest", async () => {
      expect((await call("/v1/images/1:undelete")).headers.allow).toBe("POST");
      expect((await call("/v1/repos/a", { ...json("{}"), headers: { "content-type": "a/b" } })).headers.accept).toBe(
        "application/json",
      );
      const encoding = await call("/v1/repos/a", { ...json("{}"), headers: { "content-encoding": "x" } });
      expect(encoding.headers["accept-encoding"]).toBe("br, gzip");
      expect((await call("/v1/repos/a", json({ x: 1 }))).json.details).toEqual([
        {
          "@type": "type.googleapis.com/google.rpc.BadRequest",
          fieldViolations: [expect.objectContaining({ field: "x", description: "unknown field" })],
        },
      ]);
    });
  });

  describe("errors of the call", () => {
    test.each([
      [1, 499],
      [2, 500],
      [3, 400],
      [4, 504],
      [5, 404],
      [6, 409],
      [7, 403],
      [8, 429],
      [9, 400],
      [10, 409],
      [11, 400],
      [12, 501],
      [13, 500],
      [14, 503],
      [15, 500],
      [16, 401],
    ])("code %s is HTTP %s", async (code, status) => {
      const answer = await call(`/v1/images/${code}`);
      expect([answer.status, answer.json]).toEqual([status, { code, message: `error ${code}`, details: [] }]);
      expect(answer.headers["www-authenticate"]).toBe(code === 16 ? "Bearer" : undefined);
    });

    test("a plain exception reveals nothing", async () => {
      const answer = await call("/v1/images/plain");
      expect([answer.status, answer.json]).toEqual([500, { code: 13, message: "Internal error", details: [] }]);
    });

    test("RetryInfo is Retry-After too, and metadata are headers", async () => {
      const { headers, json: status } = await call("/v1/images/retry");
      expect([headers["retry-after"], headers["x-extra"]]).toEqual(["2", "1"]);
      expect(status.details).toEqual([
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.000000001s" },
      ]);
    });

    test("a detail that cannot be decoded hides nothing", async () => {
      const answer = await call("/v1/images/undecodable");
      expect([answer.status, answer.json]).toEqual([
        404,
        {
          code: 5,
          message: "Not found: it",
          details: [
            { "@type": "type.googleapis.com/no.Such", value: "AQI=" },
            { "@type": "type.googleapis.com/google.rpc.ErrorInfo", value: "/w==" },
            { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "A" },
          ],
        },
      ]);
    });
  });

  describe("compression", () => {
    test.each([
      ["gzip", gunzipSync],
      ["br", brotliDecompressSync],
    ] as const)("%s of a large answer", async (coding, decode) => {
      const { headers, body } = await call("/v1/repos?page_size=50", { headers: { "accept-encoding": coding } });
      expect(headers).toMatchObject({
        "content-encoding": coding,
        vary: "Accept-Encoding",
        "content-length": `${body.length}`,
      });
      expect(JSON.parse(decode(body).toString()).repos).toHaveLength(50);
    });

    test("not of a small one", async () => {
      const { headers } = await call("/v1/repos/a", { headers: { "accept-encoding": "gzip, br" } });
      expect(headers["content-encoding"]).toBeUndefined();
    });

    test.each([
      ["gzip", gzipSync],
      ["x-gzip", gzipSync],
      ["br", brotliCompressSync],
    ] as const)("%s of a request", async (coding, encode) => {
      const request = { method: "POST", headers: { "content-encoding": coding }, body: encode('{"name":"n"}') };
      expect((await call("/v1/repos/a", request)).json.name).toBe("n");
    });
  });

  describe("bodies too large", () => {
    const tooLarge = {
      status: 413,
      json: { code: 8, message: "Resource exhausted: the request body is larger than 1048576 bytes" },
    };

    test("by their length", async () => {
      expect(await call("/v1/repos/a", { method: "POST", body: "x".repeat(3_000_000) })).toMatchObject(tooLarge);
    });

    test("without a length", async () => {
      expect(await call("/v1/repos/a", { method: "POST", body: "x".repeat(3_000_000), chunked: true })).toMatchObject(
        tooLarge,
      );
    });

    test.each([
      ["gzip", gzipSync],
      ["br", brotliCompressSync],
    ] as const)("when decompressed from %s", async (coding, encode) => {
      const body = encode(Buffer.alloc(50_000_000, 0x20));
      expect(
        await call("/v1/repos/a", { method: "POST", headers: { "content-encoding": coding }, body }),
      ).toMatchObject(tooLarge);
    });

    test("the limit itself is allowed", async () => {
      const body = `{"name":"${"x".repeat(1024 * 1024 - 11)}"}`;
      expect((await call("/v1/repos/a", { method: "POST", body })).status).toBe(200);
    });
  });

  describe("streams", () => {
    const names = (items: Any[]) => items.map(({ name, error }) => name ?? error);
    const status = { code: 14, message: "Unavailable: gone", details: [] };

    test("a JSON array", async () => {
      const { headers, json: items } = await call("/v1/watch?count=3");
      expect([headers["content-type"], names(items)]).toEqual(["application/json", ["0", "1", "2"]]);
      expect((await call("/v1/watch?count=0")).text).toBe("[]");
    });

    test("lines", async () => {
      const { headers, text } = await call("/v1/watch?count=2", { headers: { accept: "application/x-ndjson" } });
      const lines = text.split("\n");
      expect([headers["content-type"], lines.pop(), names(lines.map((line) => JSON.parse(line)))]).toEqual([
        "application/x-ndjson",
        "",
        ["0", "1"],
      ]);
    });

    test("events", async () => {
      const { headers, text } = await call("/v1/watch?count=2&fail_after=2", {
        headers: { accept: "text/event-stream" },
      });
      expect(headers["content-type"]).toBe("text/event-stream");
      expect(text).toMatch(
        /^retry: 3000\n\nid: 1\ndata: \{.*"name":"0".*\}\n\nid: end\nevent: error\ndata: \{.*\}\n\n$/,
      );
      expect(JSON.parse(text.split("event: error\ndata: ")[1] ?? "")).toEqual(status);
    });

    test("an error before the first message is an ordinary one", async () => {
      expect(await call("/v1/watch?count=2&fail_after=1")).toMatchObject({ status: 503, json: status });
    });

    test("an error after the first message is in the body", async () => {
      expect(names((await call("/v1/watch?count=3&fail_after=2")).json)).toEqual(["0", status]);
      const { text } = await call("/v1/watch?count=3&fail_after=2", { headers: { accept: "application/x-ndjson" } });
      expect(JSON.parse(text.trim().split("\n").pop() ?? "")).toEqual({ error: status });
    });

    test("HttpBody chunks with nothing between", async () => {
      const { headers, text } = await call("/v1/watch/raw?count=3");
      expect([headers["content-type"], text]).toEqual(["text/plain", "0;1;2;"]);
    });

    test("HttpBody chunks break off at an error", async () => {
      await expect(call("/v1/watch/raw?count=3&fail_after=3")).rejects.toThrow();
    });

    test("HEAD has no body", async () => {
      expect(await call("/v1/watch?count=3", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
    });

    test("Accept", async () => {
      expect((await call("/v1/watch", { headers: { accept: "text/html" } })).status).toBe(406);
    });
  });
});

describe("options", () => {
  const withClient = async (
    options: Partial<RestOptions>,
    use: (client: Client) => Promise<void>,
    configure?: (server: Server) => void,
  ) => {
    const client = await http1Client(handlerWith(options), configure);
    try {
      await use(client);
    } finally {
      client.close();
    }
  };

  test("describeError completes every error and keeps the HTTP status", async () => {
    const causes: unknown[] = [];
    const describeError: NonNullable<RestOptions["describeError"]> = (error, method) => {
      causes.push(error.cause);
      const info = { desc: ErrorInfoSchema, value: { reason: "R", domain: method?.name ?? "none" } };
      return new ConnectError(error.rawMessage, error.code, error.metadata, [info, ...(error.details as Any[])]);
    };
    await withClient({ describeError }, async ({ call }) => {
      const unknown = await call("/nope");
      expect([unknown.status, unknown.json.details[0].domain]).toEqual([404, "none"]);
      const wrong = await call("/v1/images/1:undelete");
      expect([wrong.status, wrong.headers.allow, wrong.json.details[0].reason]).toEqual([405, "POST", "R"]);
      const plain = await call("/v1/images/plain");
      expect([plain.json.message, plain.json.details[0].domain]).toEqual(["Internal error", "GetImage"]);
      expect(causes.at(-1)).toBeInstanceOf(TypeError);
    });
  });

  test("describeError may fail", async () => {
    const describeError = () => {
      throw new Error("oops");
    };
    await withClient({ describeError }, async ({ call }) => {
      expect((await call("/nope")).json.code).toBe(5);
    });
  });

  test("ignoreUnknownFields and ignoreUnknownParameters", async () => {
    await withClient({ ignoreUnknownFields: true, ignoreUnknownParameters: true }, async ({ call }) => {
      expect((await call("/v1/repos/a?nope=1", json({ nope: 1, name: "n" }, "PATCH"))).json.name).toBe("n");
      expect(seen.message.updateMask.paths).toEqual(["name"]);
    });
  });

  test("slashInMultiSegment", async () => {
    await withClient({}, async ({ call }) => {
      expect((await call("/v1/repos/a%2Fb")).json.uid).toBe("a%2Fb");
    });
    await withClient({ slashInMultiSegment: "decode" }, async ({ call }) => {
      expect((await call("/v1/repos/a%2Fb")).json.uid).toBe("a/b");
    });
  });

  test("limits", async () => {
    await withClient({ limits: { maxBodyBytes: 10, maxUrlBytes: 20 } }, async ({ call }) => {
      expect((await call("/v1/repos/a", json({ name: "n" }))).status).toBe(413);
      expect((await call("/v1/repos/a?page_token=xxxx")).status).toBe(414);
    });
  });

  test("headers the host has set stay", async () => {
    const handler = handlerWith();
    const client = await http1Client((request, response) => {
      response.setHeader("x-request-id", "r1");
      response.setHeader("vary", "Origin");
      return handler(request, response);
    });
    const { headers } = await client.call("/v1/repos/a");
    expect(headers).toMatchObject({ "x-request-id": "r1", vary: "Origin, Accept-Encoding" });
    expect((await client.call("/nope")).headers["x-request-id"]).toBe("r1");
    client.close();
  });

  test("sendsContinue asks for the body only of acceptable requests", async () => {
    const handler = handlerWith({ sendsContinue: true });
    const listen = (server: Server) =>
      server.on("checkContinue", (request, response) => void handler(request, response));
    await withClient(
      { sendsContinue: true },
      async ({ origin }) => {
        const port = Number(new URL(origin).port);
        const refused = await exchange(
          port,
          "POST /v1/repos/a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5000000\r\n\r\n",
        );
        expect(refused).toMatch(/^HTTP\/1.1 413 /);
        const accepted = await exchange(
          port,
          "POST /v1/repos/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 12\r\n\r\n",
          '{"name":"n"}',
        );
        expect(accepted).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK\r\n.*"name":"n"/s);
      },
      listen,
    );
  });
});

test("a required field of proto2 that is missing is 400", async () => {
  const proto = clone(FileDescriptorProtoSchema, fileProto);
  for (const [message, field] of [
    ["GetLayerRequest", "uid"],
    ["ClaimMatch", "issuer"],
  ] as const)
    proto.messageType.find(({ name }) => name === message)!.field.find(({ name }) => name === field)!.label =
      FieldDescriptorProto_Label.REQUIRED;
  const service = compile(proto).getService("library.v1.Library")!;
  const methods = { getImage: (message: Any) => message, echo: (message: Any) => message };
  const client = await http1Client(createRestHandler(fromRouter((router) => router.service(service, methods as Any))));
  onTestFinished(() => client.close());
  expect((await client.call("/v1/images/a?uid=u")).json).toEqual({ uid: "u", digest: "a" });
  for (const [path, call, field] of [
    ["/v1/images/a", {}, "uid"],
    ["/v1/echo", json({ claimMatch: { subject: "s" } }), "issuer"],
    ["/v1/echo", json({ child: { matches: [{ issuer: "i" }, {}] } }), "issuer"],
  ] as const) {
    const answer = await client.call(path, call);
    expect([answer.status, answer.json.message]).toEqual([400, `Invalid argument: ${field}: is required`]);
  }
  expect((await client.call("/v1/echo", json({ claimMatch: { issuer: "" } }))).status).toBe(200);
});

test("an Any passes through the registry", async () => {
  const client = await http1Client(handlerWith());
  const any = { "@type": "type.googleapis.com/google.protobuf.Duration", value: "3s" };
  expect((await client.call("/v1/echo", json({ any }))).json.any).toEqual(any);
  expect(seen.message.any).toEqual(anyPack(DurationSchema, createMessage(DurationSchema, { seconds: 3n })));
  client.close();
});
