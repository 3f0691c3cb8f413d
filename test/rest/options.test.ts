/** The options of the library, each through a port. */
import assert from "node:assert";
import { once } from "node:events";
import { createServer, get as httpGet } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { Readable } from "node:stream";
import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, createContextKey, createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { load } from "js-yaml";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import {
  createRestHandler,
  fromRouter,
  listRoutes,
  type RestMatch,
  type RestOptions,
  readBindings,
} from "../../src/rest/index.ts";
import { fastPathClient, http1Client, http2Client, json } from "../http/clients.ts";
import { type Any, create, library, libraryWith, post } from "./fixture.ts";
import { handlerWith, seen } from "./service.ts";

async function clientWith(options: Partial<RestOptions>, createClient = http1Client) {
  const client = await createClient(handlerWith({ json: {}, emptyAnswer: undefined, ...options }));
  onTestFinished(() => client.close());
  return client.call;
}

const fullRepo = {
  uid: "u",
  createTime: "2024-01-31T12:34:56.123456Z",
  kind: "KIND_PAPER",
  claimMatch: { subject: "s" },
};

describe.each([
  ["HTTP/1.1", http1Client],
  ["HTTP/2", http2Client],
  ["HTTP/2, fast path", fastPathClient],
] as const)("acceptEmptyObject over %s", (_, createClient) => {
  const paths = [
    ["GET", "/v1/repos/a"],
    ["DELETE", "/v1/repos/a"],
    ["POST", "/v1/layers/a/b"],
    ["GET", "/v1/watch?count=1"],
  ] as const;
  const httpRules = {
    rules: [{ selector: "library.v1.Library.GetLayer", post: "/v1/layers/{uid}/{digest}" }],
  };

  test.each(paths)("%s %s takes {} and no other body", async (method, path) => {
    const call = await clientWith({ httpRules, acceptEmptyObject: true }, createClient);
    for (const body of ["{}", " {\n} ", "", undefined])
      expect((await call(path, { method, body })).status, body).toBe(200);
    for (const chunked of [false, true])
      expect((await call(path, { ...json("{}", method), chunked })).status).toBe(200);
    for (const body of ['{"uid":"b"}', "[]", "null", '"{}"', "0"]) {
      const { status, json: error } = await call(path, json(body, method));
      expect([status, error.message], body).toEqual([400, "Invalid argument: this method takes no body"]);
    }
    expect((await call(path, json("{", method))).status).toBe(400);
    expect((await call(path, { ...json("{}", method), headers: { "content-type": "text/plain" } })).status).toBe(415);
    expect((await call(path, json(" ".repeat(2 ** 20 + 1), method))).status).toBe(413);
  });

  test("does not matter for rules with a body, and is off by default", async () => {
    const call = await clientWith({ acceptEmptyObject: true, protobufBodies: true }, createClient);
    expect((await call("/v1/repos/a:move", json({ target: "t" }))).json).toMatchObject({ target: "t" });
    expect((await call("/v1/repos/a", json({}, "DELETE"))).status).toBe(200);
    const strict = await clientWith({ httpRules }, createClient);
    for (const [method, path] of paths) expect((await strict(path, json({}, method))).status).toBe(400);
  });
});

test("acceptEmptyObject: a client stream whose rule has no body is one message", async () => {
  const httpRules = { rules: [{ selector: "library.v1.Library.Collect", post: "/v1/collect/{description}" }] };
  const call = await clientWith({ httpRules, acceptEmptyObject: true });
  expect((await call("/v1/collect/d", json({}))).json).toEqual({ repos: [{ description: "d" }] });
});

describe("json", () => {
  test.each<[RestOptions["json"], object]>([
    [{}, fullRepo],
    [undefined, fullRepo],
    [{ timestampPrecision: "milliseconds" }, { ...fullRepo, createTime: "2024-01-31T12:34:56.123Z" }],
    [{ enumAsInteger: true }, { ...fullRepo, kind: 1 }],
    [
      { useProtoFieldName: true },
      { uid: "u", create_time: fullRepo.createTime, kind: "KIND_PAPER", claim_match: { subject: "s" } },
    ],
    [
      { alwaysEmitImplicit: true },
      {
        ...fullRepo,
        name: "",
        description: "",
        total: "0",
        claimMatch: { issuer: "", subject: "s" },
        tags: [],
        labels: {},
        deprecated: false,
      },
    ],
  ])("%j", async (format, expected) => {
    const call = await clientWith({ json: format });
    expect((await call("/v1/repos/u", json(fullRepo, "PATCH"))).json).toEqual(expected);
  });

  test("without a registry, an Any may hold the types of the service's files and their imports", async () => {
    const call = await clientWith({ registry: undefined });
    const any = { "@type": "type.googleapis.com/library.v1.Repo", uid: "u" };
    expect((await call("/v1/echo", json({ any }))).json).toEqual({ any });
    const ttl = { "@type": "type.googleapis.com/google.protobuf.Duration", value: "3s" };
    expect((await call("/v1/echo", json({ any: ttl }))).json).toEqual({ any: ttl });
  });
});

test.each([
  [undefined, "{}", "application/json"],
  ["object", "{}", "application/json"],
  ["nothing", "", undefined],
] as const)("emptyAnswer: %s", async (emptyAnswer, text, contentType) => {
  const call = await clientWith({ emptyAnswer });
  const answer = await call("/v1/repos/a", { method: "DELETE" });
  expect([answer.status, answer.text, answer.headers["content-type"]]).toEqual([200, text, contentType]);
});

describe("errors", () => {
  test.each<[RestOptions["errors"], unknown]>([
    [undefined, { code: 5, message: "error 5", details: [] }],
    ["flat", { code: 5, message: "error 5", details: [] }],
    ["aip-193", { error: { code: 404, message: "error 5", status: "NOT_FOUND", details: [] } }],
    [({ rawMessage }, httpStatus) => ({ title: rawMessage, httpStatus }), { title: "error 5", httpStatus: 404 }],
  ])("%s", async (errors, expected) => {
    const call = await clientWith({ errors });
    const answer = await call("/v1/images/5");
    expect([answer.status, answer.json]).toEqual([404, expected]);
  });

  test("CANCELLED has the spelling of google.rpc.Code", async () => {
    const call = await clientWith({ errors: "aip-193" });
    expect((await call("/v1/images/1")).json.error).toMatchObject({ code: 499, status: "CANCELLED" });
  });

  test.each<[RestOptions["errors"], unknown]>([
    ["flat", { error: { code: 14, message: "Unavailable: gone", details: [] } }],
    ["aip-193", { error: { code: 503, message: "Unavailable: gone", status: "UNAVAILABLE", details: [] } }],
    [({ code }) => code, { error: 14 }],
  ])("%s in a stream", async (errors, expected) => {
    const call = await clientWith({ errors });
    expect((await call("/v1/watch?count=3&fail_after=2")).json).toEqual([{ name: "0" }, expected]);
    const lines = await call("/v1/watch?count=3&fail_after=2", { headers: { accept: "application/x-ndjson" } });
    expect(JSON.parse(lines.text.trim().split("\n").at(-1)!)).toEqual(expected);
  });
});

test.each<[string, (error: ConnectError) => Any]>([
  ["throws", () => assert.fail()],
  ["returns nothing", () => undefined],
  ["returns no JSON", () => 1n],
])("a function of errors that %s gives the flat form", async (_, errors) => {
  const call = await clientWith({ errors });
  const answer = await call("/v1/images/5");
  expect([answer.status, answer.json]).toEqual([404, { code: 5, message: "error 5", details: [] }]);
});

test.each(["0", "99", "NaN"])("the code %s is UNKNOWN", async (code) => {
  const flat = await clientWith({});
  const answer = await flat(`/v1/images/${code}`);
  expect([answer.status, answer.json.code]).toEqual([500, 2]);
  const nested = await clientWith({ errors: "aip-193" });
  expect((await nested(`/v1/images/${code}`)).json.error).toMatchObject({ code: 500, status: "UNKNOWN" });
});

describe.each([
  ["HTTP/1.1", http1Client],
  ["HTTP/2", http2Client],
  ["HTTP/2, fast path", fastPathClient],
] as const)("rewriteAnswer over %s", (_, createClient) => {
  test.each([
    [204, undefined],
    [205, "0"],
    [304, undefined],
  ])("to %i sends no content", async (httpStatus, length) => {
    const call = await clientWith({ rewriteAnswer: (answer) => ({ ...answer, httpStatus }) }, createClient);
    const answer = await call("/v1/repos/a");
    expect([answer.status, answer.text, answer.headers["content-length"]]).toEqual([httpStatus, "", length]);
  });

  test.each([101, 99, 600, Number.NaN])("to %d is an error", async (httpStatus) => {
    const call = await clientWith({ rewriteAnswer: (answer) => ({ ...answer, httpStatus }) }, createClient);
    const answer = await call("/v1/repos/a");
    expect([answer.status, answer.json.code]).toEqual([500, 13]);
  });
});

test("rewriteAnswer changes status, headers and body", async () => {
  const call = await clientWith({
    rewriteAnswer: (answer, { method, message, request }) =>
      method.name === "CreateRepo"
        ? {
            httpStatus: 201,
            headers: { ...answer.headers, location: `${request.url}#${(message as Any).uid}` },
            body: `{"data":${answer.body}}`,
          }
        : answer,
  });
  const created = await call("/v1/repos/g", json({ name: "n" }));
  expect([created.status, created.headers.location, created.json]).toEqual([
    201,
    "/v1/repos/g#g/new",
    { data: { uid: "g/new", name: "n" } },
  ]);
  expect((await call("/v1/repos/u")).status).toBe(200);
});

describe("headers", () => {
  test("matchers rename and drop", async () => {
    const call = await clientWith({
      requestHeader: (name) => (name.startsWith("x-") ? `REST-${name}` : undefined),
      responseHeader: (name) => (name === "etag" ? undefined : `up-${name}`),
    });
    const { headers } = await call("/v1/repos/u", { headers: { "x-one": "1", authorization: "secret" } });
    const passed = seen.context!.requestHeader;
    expect([passed.get("rest-x-one"), passed.get("x-one"), passed.get("authorization")]).toEqual(["1", null, null]);
    expect([headers.etag, headers["up-x-many"], headers["x-many"]]).toEqual([undefined, "a, b", undefined]);
  });

  test("may have the names of properties of every object", async () => {
    const router = fromRouter(({ service }) =>
      service(library, {
        getRepo(_: Any, context: Any) {
          context.responseHeader.set("constructor", context.requestHeader.get("constructor"));
          return {};
        },
      } as Any),
    );
    const client = await http1Client(createRestHandler(router));
    onTestFinished(() => client.close());
    expect((await client.call("/v1/repos/a", { headers: { constructor: "c" } })).headers.constructor).toBe("c");
  });

  test("of an error, too", async () => {
    const call = await clientWith({ responseHeader: (name) => `up-${name}` });
    expect((await call("/v1/images/retry")).headers["up-x-extra"]).toBe("1");
  });

  const protocolHeaders = {
    "grpc-timeout": "1n",
    "grpc-encoding": "deflate",
    "grpc-accept-encoding": "deflate",
    "x-grpc-web": "1",
    "connect-protocol-version": "7",
    "connect-timeout-ms": "1",
    "connect-content-encoding": "gzip",
    host: "front.example",
  };

  test.each([
    ["Connect", createConnectTransport, "1.1"],
    ["gRPC", createGrpcTransport, "2"],
  ] as const)(
    "of gRPC and Connect are not passed to a remote server by %s",
    async (_, createTransport, httpVersion) => {
      const passed: Headers[] = [];
      const routes = ({ service }: ConnectRouter) =>
        service(library, {
          getRepo(_: Any, { requestHeader }: Any) {
            passed.push(requestHeader);
            return create("Repo", { uid: "remote" });
          },
          async *watch(_: Any, { requestHeader }: Any) {
            passed.push(requestHeader);
            yield create("Repo", { uid: "remote" });
          },
        } as Any);
      const adapter = connectNodeAdapter({ routes });
      const server = httpVersion === "2" ? createHttp2Server(adapter) : createServer(adapter);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void server.close());
      const baseUrl = `http://127.0.0.1:${(server.address() as Any).port}`;
      const transport = createTransport({
        baseUrl,
        httpVersion: httpVersion as never,
      });
      const call = await clientWith({ transport });
      const headers = { ...protocolHeaders, "x-own": "kept" };
      expect((await call("/v1/repos/u", { headers })).json).toEqual({ uid: "remote" });
      expect((await call("/v1/watch", { headers })).json).toEqual([{ uid: "remote" }]);
      expect(passed).toHaveLength(2);
      for (const header of passed) {
        expect(header.get("x-own")).toBe("kept");
        for (const [name, value] of Object.entries(protocolHeaders)) expect(header.get(name), name).not.toBe(value);
      }
    },
  );
});

describe("fromRouter", () => {
  const user = createContextKey("nobody");
  const routes = ({ service }: ConnectRouter) =>
    service(library, {
      getRepo({ uid }: Any, context: Any) {
        if (uid === "missing") throw new ConnectError("no such repo", Code.NotFound);
        if (uid === "slow") return new Promise(() => {});
        context.responseHeader.set("x-user", context.values.get(user));
        context.responseTrailer.set("x-trailer", "t");
        return { uid, name: context.requestHeader.get("x-name") ?? "" };
      },
      async *watch({ count }: Any, context: Any) {
        context.responseHeader.set("x-user", context.values.get(user));
        for (let i = 0; i < count; i++) yield { name: `${i}` };
      },
    } as Any);
  const contextValues: RestOptions["contextValues"] = ({ headers }) =>
    createContextValues().set(user, String(headers["x-user"]));

  async function start(options: Partial<RestOptions> = {}, router = fromRouter(routes)) {
    const client = await http1Client(createRestHandler({ ...router, ...options }));
    onTestFinished(() => client.close());
    return client.call;
  }

  test("serves the routes, with headers and trailers", async () => {
    const call = await start();
    const answer = await call("/v1/repos/a", { headers: { "x-name": "n" } });
    expect(answer.json).toEqual({ uid: "a", name: "n" });
    expect([answer.headers["x-user"], answer.headers["x-trailer"]]).toEqual(["nobody", "t"]);
    expect((await call("/v1/repos/missing")).json).toEqual({ code: 5, message: "no such repo", details: [] });
    expect((await call("/v1/repos")).status).toBe(501);
    expect((await call("/v1/watch?count=3")).json).toEqual([{ name: "0" }, { name: "1" }, { name: "2" }]);
    expect((await call("/v1/watch")).json).toEqual([]);
  });

  test("a single method can be routed", async () => {
    const call = await start(
      {},
      fromRouter(({ rpc }) => rpc(library.method.getRepo as Any, () => ({ uid: "rpc" }) as Any)),
    );
    expect((await call("/v1/repos/a")).json).toEqual({ uid: "rpc" });
    expect((await call("/v1/watch")).status).toBe(501);
  });

  test("contextValues reach the service", async () => {
    const call = await start({ contextValues });
    expect((await call("/v1/repos/a", { headers: { "x-user": "ada" } })).headers["x-user"]).toBe("ada");
    expect((await call("/v1/watch", { headers: { "x-user": "ada" } })).headers["x-user"]).toBe("ada");
  });

  test("interceptors run around calls, and see contextValues", async () => {
    const seenBy: string[] = [];
    const router = fromRouter(routes, {
      interceptors: [
        (next) => (request) => {
          seenBy.push(`${request.method.name} ${request.contextValues.get(user)}`);
          return next(request);
        },
      ],
    });
    const call = await start({ contextValues }, router);
    await call("/v1/repos/a", { headers: { "x-user": "ada" } });
    await call("/v1/watch?count=1", { headers: { "x-user": "ada" } });
    expect(seenBy).toEqual(["GetRepo ada", "Watch ada"]);
  });

  test("options of a service replace those of the router", async () => {
    const deny = (reason: string) => () => {
      throw new ConnectError(reason, Code.PermissionDenied, { "x-reason": reason });
    };
    const health = { rules: [{ selector: "grpc.health.v1.Health.Check", get: "/health" }] };
    const router = fromRouter(
      ({ service, rpc }) => {
        service(library, { getRepo: () => ({ uid: "u" }) } as Any, { interceptors: [deny("service")] });
        rpc(Health.method.check, (_, { responseHeader }) => {
          responseHeader.set("x-own", "kept");
          throw new ConnectError("down", Code.Unavailable);
        });
      },
      { requestGate: (context) => void (context.requestHeader.has("x-stop") && deny("gate")()) },
    );
    const call = await start({ httpRules: health }, router);
    const denied = await call("/v1/repos/a");
    expect([denied.status, denied.json.message, denied.headers["x-reason"]]).toEqual([403, "service", "service"]);
    expect((await call("/v1/repos/a", { headers: { "x-stop": "1" } })).json.message).toBe("gate");
    const down = await call("/health");
    expect([down.status, down.headers["x-own"]]).toEqual([503, "kept"]);
  });

  test("shutdownSignal ends calls", async () => {
    const stopping = new AbortController();
    const started = Promise.withResolvers<void>();
    const router = fromRouter(
      ({ service }) =>
        service(library, {
          getRepo() {
            started.resolve();
            return new Promise(() => {});
          },
        } as Any),
      { shutdownSignal: stopping.signal },
    );
    const call = await start({}, router);
    const answer = call("/v1/repos/a");
    await started.promise;
    stopping.abort(new ConnectError("stopping", Code.Unavailable));
    expect((await answer).json).toEqual({ code: 14, message: "stopping", details: [] });
  });

  test("timeoutMs ends a call, for all methods or for each", async () => {
    const all = await start({ timeoutMs: 20 });
    expect((await all("/v1/repos/slow")).json).toMatchObject({ code: 4 });
    const each = await start({ timeoutMs: ({ name }) => (name === "GetRepo" ? 20 : undefined) });
    expect((await each("/v1/repos/slow")).status).toBe(504);
    expect((await each("/v1/watch?count=1")).status).toBe(200);
  });

  test("a client may ask for less than timeoutMs, and not for more", async () => {
    const short = await start({ timeoutMs: 600_000 });
    expect((await short("/v1/repos/slow", { headers: { "x-server-timeout": "0.02" } })).status).toBe(504);
    const long = await start({ timeoutMs: 20 });
    expect((await long("/v1/repos/slow", { headers: { "x-server-timeout": "600" } })).status).toBe(504);
  });
});

test("a call without time left is not sent", async () => {
  let sent = 0;
  const transport = {
    unary: async () => void sent++,
    stream: async () => void sent++,
  } as Any;
  const call = await clientWith({ transport });
  for (const path of ["/v1/repos/a", "/v1/watch"]) {
    const answer = await call(path, { headers: { "x-server-timeout": "0" } });
    expect([answer.status, answer.json.code], path).toEqual([504, 4]);
  }
  expect(sent).toBe(0);
});

describe("routing", () => {
  test.each([
    ["/nope", "GET"],
    ["/v1/images/1", "PUT"],
  ])("next is called for %s with %s", async (path, method) => {
    const handler = handlerWith();
    const client = await http1Client((request, response) =>
      handler(request, response, () => response.end("next", "utf8")),
    );
    onTestFinished(() => client.close());
    expect((await client.call(path, { method })).text).toBe("next");
    expect((await client.call("/v1/repos/a")).json.uid).toBe("a");
  });

  test("basePath", async () => {
    const call = await clientWith({ basePath: "/api" });
    expect((await call("/api/v1/repos/a")).json.uid).toBe("a");
    for (const path of ["/v1/repos/a", "/apiv1/repos/a", "/api"]) expect((await call(path)).status).toBe(404);
  });

  test.each([
    ["/", "/v1/repos/a"],
    ["/api/", "/api/v1/repos/a"],
  ])("basePath may end in a slash: %s", async (basePath, path) => {
    const call = await clientWith({ basePath });
    expect((await call(path)).json.uid).toBe("a");
    expect((await call(`${basePath}/v1/repos/a`)).status).toBe(404);
  });

  test("basePath without a slash at its beginning is an error", () => {
    expect(() => handlerWith({ basePath: "api" })).toThrow("basePath: api does not begin with a slash");
  });

  test("onMatch has the template", async () => {
    const matches: RestMatch[] = [];
    const call = await clientWith({ onMatch: (match) => matches.push(match) });
    await call("/v1/repos/a/b");
    await call("/v1/repos/a:move", json({}));
    await call("/nope");
    expect(matches.map(({ method, httpMethod, template }) => `${method.name} ${httpMethod} ${template}`)).toEqual([
      "GetRepo GET /v1/repos/{uid=**}",
      "MoveRepo POST /v1/repos/{uid=**}:move",
    ]);
  });

  test("limits.maxBodyBytes of each method", async () => {
    const call = await clientWith({ limits: { maxBodyBytes: ({ name }) => (name === "MoveRepo" ? 10 : 1000) } });
    const body = json({ name: "a name that is long" });
    expect((await call("/v1/repos/a", body)).status).toBe(200);
    expect((await call("/v1/repos/a:move", body)).status).toBe(413);
  });
});

describe("methods with streams in both directions", () => {
  const chat = libraryWith("Chat", post("/v1/chat", { body: "*" }));
  const reason = "streams in both directions cannot be reached by HTTP bindings";
  afterEach(() => vi.restoreAllMocks());

  test("answer UNIMPLEMENTED with a warning at the start, and the others are served", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const call = await clientWith({ services: [library, chat] });
    expect(warn.mock.calls).toEqual([[`REST: library.v1.Library.Chat is not served: ${reason}`]]);
    expect(await call("/v1/chat", json({}))).toMatchObject({ status: 501, json: { code: 12, details: [] } });
    expect(await call("/v1/chat")).toMatchObject({ status: 405, headers: { allow: "POST" } });
    expect((await call("/v1/chats", json({}))).status).toBe(404);
    expect((await call("/v1/repos/a")).status).toBe(200);
  });

  test("are in no list of routes", () => {
    expect(listRoutes([chat])).toEqual([]);
    expect(readBindings([chat])).toEqual([]);
  });

  test("onSkipped takes the warning", async () => {
    const skipped: string[] = [];
    await clientWith({ services: [chat], onSkipped: ({ name }, why) => skipped.push(`${name}: ${why}`) });
    expect(skipped).toEqual([`Chat: ${reason}`]);
  });
});

describe.each([
  ["string_value", "stringValue", "a text", "a text"],
  ["int64_value", "int64Value", 12, "12"],
  ["bool_value", "boolValue", true, true],
  ["kind", "kind", "KIND_AUDIO", "KIND_AUDIO"],
  ["strings", "strings", ["a", "b"], ["a", "b"]],
  ["kinds", "kinds", ["KIND_PAPER"], ["KIND_PAPER"]],
  ["labels", "labels", { k: "v" }, { k: "v" }],
  ["matches_by_flag", "matchesByFlag", { true: { subject: "s" } }, { true: { subject: "s" } }],
  ["claim_match", "claimMatch", { subject: "s" }, { subject: "s" }],
  ["create_time", "createTime", "2024-01-31T12:34:56Z", "2024-01-31T12:34:56Z"],
  ["string_wrapper", "stringWrapper", "w", "w"],
  ["choice_string", "choiceString", "c", "c"],
] as const)("body and response_body of %s", (body, name, given, answered) => {
  const call = (responseBody: string) =>
    clientWith({ services: [libraryWith("Echo", post("/v1/field", { body, responseBody }))] });

  test("the body is the value of the field", async () => {
    expect((await (await call(""))("/v1/field", json(JSON.stringify(given)))).json).toEqual({ [name]: answered });
  });

  test("the answer is the value of the field", async () => {
    expect((await (await call(body))("/v1/field", json(JSON.stringify(given)))).json).toEqual(answered);
  });

  test("a value of another kind and null are refused", async () => {
    const post = await call("");
    for (const wrong of ["[[1]]", "null"]) expect((await post("/v1/field", json(wrong))).status, wrong).toBe(400);
  });
});

describe.each([
  ["HTTP/1.1", http1Client],
  ["HTTP/2", http2Client],
] as const)("a HttpBody stream by %s", (_, createClient) => {
  test("that fails after its first message delivers that message", async () => {
    const client = await createClient(handlerWith());
    onTestFinished(() => client.close());
    const response = await fetchRaw(client.origin, "/v1/watch/raw?count=3&fail_after=2", createClient === http2Client);
    expect(response).toEqual({ text: "0;", isComplete: false });
    const whole = await fetchRaw(client.origin, "/v1/watch/raw?count=3", createClient === http2Client);
    expect(whole).toEqual({ text: "0;1;2;", isComplete: true });
  });
});

/** What comes of a response, and whether it ends as complete. */
async function fetchRaw(
  origin: string,
  path: string,
  isHttp2: boolean,
): Promise<{ text: string; isComplete: boolean }> {
  let text = "";
  const session = isHttp2 ? connectHttp2(origin) : undefined;
  try {
    const body = session
      ? session.request({ ":path": path })
      : ((await once(httpGet(origin + path), "response")) as [Readable])[0];
    for await (const chunk of body) text += chunk;
    return { text, isComplete: true };
  } catch {
    return { text, isComplete: false };
  } finally {
    session?.destroy();
  }
}

describe("cors", () => {
  const origin = "https://app.example.com";
  const preflight = {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "PATCH",
      "access-control-request-headers": "authorization,x-own",
    },
  };

  test("is off by default", async () => {
    const call = await clientWith({});
    expect((await call("/v1/repos/a", { headers: { origin } })).headers["access-control-allow-origin"]).toBeUndefined();
    expect((await call("/v1/repos/a", preflight)).status).toBe(405);
  });

  test.each([[origin], ["*"]])("lets pages of %s call", async (allowed) => {
    const call = await clientWith({ cors: { origins: [allowed], exposedHeaders: ["ETag"], maxAgeSeconds: 60 } });
    const answer = await call("/v1/repos/a", { headers: { origin } });
    expect([answer.status, answer.json.uid]).toEqual([200, "a"]);
    expect(answer.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-expose-headers": "ETag",
      vary: "Origin, Accept-Encoding",
    });
    const asked = await call("/v1/repos/a", preflight);
    expect([asked.status, asked.text]).toEqual([204, ""]);
    expect(asked.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
      "access-control-allow-headers": "authorization,x-own",
      "access-control-max-age": "60",
    });
    expect((await call("/v1/images/5", { headers: { origin } })).headers["access-control-allow-origin"]).toBe(origin);
  });

  test("a page may use the methods of custom rules", async () => {
    const call = await clientWith({ cors: { origins: [origin] } });
    const asked = await call("/v1/echo", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "PURGE" },
    });
    expect(asked.headers["access-control-allow-methods"]).toBe("GET, HEAD, POST, PUT, PATCH, DELETE, PURGE");
  });

  test.each([
    ["/v1/repos/a", "Cookie, Origin, X-Own, Accept-Encoding"],
    ["/v1/files/a", "Cookie, Origin, X-Own"],
    ["/v1/watch", "Cookie, Origin, Accept, X-Own"],
    ["/v1/watch/raw", "Cookie, Origin, X-Own"],
  ])("Vary of %s keeps what the host says", async (path, vary) => {
    const handler = handlerWith({ cors: { origins: ["*"] }, answerHeaders: () => ({ vary: "X-Own" }) });
    const client = await http1Client((request, response) => {
      response.setHeader("vary", "Cookie");
      return handler(request, response);
    });
    onTestFinished(() => client.close());
    expect((await client.call(path)).headers.vary).toBe(vary);
  });

  test("concerns only what the handler serves", async () => {
    const handler = handlerWith({ cors: { origins: ["*"] } });
    const client = await http1Client((request, response) =>
      handler(request, response, () => response.end("own", "utf8")),
    );
    onTestFinished(() => client.close());
    for (const call of [{ headers: { origin } }, preflight]) {
      const own = await client.call("/own", call);
      expect([own.text, own.headers["access-control-allow-origin"], own.headers.vary]).toEqual([
        "own",
        undefined,
        undefined,
      ]);
    }
    expect((await client.call("/v1/repos/a", preflight)).status).toBe(204);
  });

  test("does not let others call", async () => {
    const call = await clientWith({ cors: { origins: ["https://other.example.com"] } });
    const answer = await call("/v1/repos/a", { headers: { origin } });
    expect([answer.status, answer.headers["access-control-allow-origin"], answer.headers.vary]).toEqual([
      200,
      undefined,
      "Origin, Accept-Encoding",
    ]);
    expect((await call("/v1/repos/a", preflight)).status).toBe(405);
  });
});

describe("httpRules", () => {
  const rule = (selector: string, more: object) => ({ selector: `library.v1.Library.${selector}`, ...more });

  test("replace annotations", async () => {
    const httpRules = {
      rules: [
        rule("GetRepo", { get: "/v1/lost/{uid}" }),
        rule("GetRepo", { get: "/v2/repos/{uid}", additional_bindings: [{ post: "/v2/repos:get", body: "*" }] }),
        { selector: "other.v1.Service.Get", get: "/v1/{uid}" },
      ],
    };
    const call = await clientWith({ httpRules });
    expect((await call("/v2/repos/a")).json.uid).toBe("a");
    expect((await call("/v2/repos:get", json({ uid: "b" }))).json.uid).toBe("b");
    for (const path of ["/v1/shelves/shelves/a/repos/b", "/v1/lost/a"])
      expect((await call(path)).status, path).toBe(404);
    expect((await call("/v1/files/a")).status).toBe(200);
    expect(listRoutes([library], { httpRules }).filter(({ method }) => method.endsWith("GetRepo"))).toEqual([
      { method: "library.v1.Library.GetRepo", httpMethod: "GET", template: "/v2/repos/{uid}", body: "" },
      { method: "library.v1.Library.GetRepo", httpMethod: "POST", template: "/v2/repos:get", body: "*" },
    ]);
  });

  test.each([
    ["a list", "library.v1.Library.GetRepo, other.v1.Service.Get", 1],
    ["a package", "library.v1.*", 20],
    ["a service", "library.v1.Library.*", 20],
    ["everything", "*", 20],
    ["another package", "library.*.v1.*,lib*,brary.v1.*", 0],
  ])("a selector may be %s", (_, selector, count) => {
    const rules = [{ selector, custom: { kind: "PICK", path: "/v9" } }];
    const picked: unknown[] = [];
    const onSkipped = (method: unknown, _: string, template?: string) =>
      void (template === "/v9" && picked.push(method));
    const routes = listRoutes([library], { httpRules: { rules }, invalidBindings: "skip", onSkipped });
    picked.push(...routes.filter(({ template }) => template === "/v9"));
    expect(picked).toHaveLength(count); // all but the first are skipped, as they take the same requests
  });

  test("reach services without annotations", async () => {
    const router = fromRouter(({ service }) => service(Health, { check: () => ({ status: 1 }) }));
    const { http: httpRules } = load(`
      type: google.api.Service
      config_version: 3
      http:
        rules:
          - selector: grpc.health.v1.Health.Check
            get: /health/{service=**}`) as { http: JsonValue };
    const client = await http1Client(createRestHandler({ ...router, httpRules }));
    onTestFinished(() => client.close());
    expect((await client.call("/health/a/b")).json).toEqual({ status: "SERVING" });
  });

  test.each([
    [rule("Nope", { get: "/v1" }), "library.v1.Library.Nope: a rule selects a method that does not exist"],
    [rule("GetRepo", { get: "/v1/{nope}" }), /library.v1.Library.GetRepo: \/v1\/{nope}: column 6/],
    [{ selektor: "x" }, /selektor/],
    [{ get: "/v1" }, "a rule has no selector"],
    [{ selector: "library.v1.Library.GetRepo,", get: "/v1" }, "a rule has no selector"],
  ])("%j is refused", (wrong, message) => {
    expect(() => handlerWith({ httpRules: { rules: [wrong] } })).toThrow(message);
  });
});

test("jsonTypes are read as JSON", async () => {
  const type = "application/merge-patch+json";
  const patch = { ...json({ description: null }, "PATCH"), headers: { "content-type": type } };
  expect((await (await clientWith({}))("/v1/repos/a", patch)).status).toBe(415);
  const call = await clientWith({ jsonTypes: [type] });
  expect((await call("/v1/repos/a", patch)).status).toBe(200);
  expect(seen.message.updateMask.paths).toEqual(["description"]);
  expect((await call("/v1/repos/a", { ...patch, headers: { "content-type": "text/plain" } })).status).toBe(415);
});

test("answerHeaders are in every response", async () => {
  const call = await clientWith({ answerHeaders: ({ headers }) => ({ "x-request-id": `${headers["x-own"]}` }) });
  for (const path of ["/v1/repos/a", "/v1/images/5", "/v1/watch?count=1", "/nope"])
    expect((await call(path, { headers: { "x-own": path } })).headers["x-request-id"], path).toBe(path);
});

test.each<[Error, object]>([
  [new TypeError("secret"), { code: 13, message: "Internal error", details: [] }],
  [new ConnectError("Unavailable: full", Code.Unavailable), { code: 14, message: "Unavailable: full", details: [] }],
])("answerHeaders that throws: %s", async (error, expected) => {
  const call = await clientWith({
    answerHeaders() {
      throw error;
    },
  });
  expect((await call("/v1/repos/a")).json).toEqual(expected);
});
