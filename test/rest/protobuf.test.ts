/** The option `protobufBodies`: bodies in the wire format, through ports. */
import { gunzipSync, gzipSync } from "node:zlib";
import { type DescMessage, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFetchHandler, type RestOptions } from "../../src/rest/index.ts";
import { type Call, fastPathClient, http1Client, http2Client, json } from "../http/clients.ts";
import { type Any, create, desc, library, libraryWith, post, registry } from "./fixture.ts";
import { serveFetch } from "./hosts/fetch-server.ts";
import { handlerWith, seen, transport } from "./service.ts";

const protobuf = "application/x-protobuf";
const accepting = (accept: string, call: Call = {}): Call => ({ ...call, headers: { ...call.headers, accept } });

/** A call whose body is a message in the wire format. */
function wire(type: DescMessage, value: JsonValue, method = "POST"): Call {
  const body = toBinary(type, fromJson(type, value, { registry }));
  return { method, headers: { "content-type": protobuf }, body };
}

async function clientWith(options: Partial<RestOptions> = {}, createClient: typeof http1Client = http1Client) {
  const client = await createClient(
    handlerWith({ json: {}, emptyAnswer: undefined, protobufBodies: true, ...options }),
  );
  onTestFinished(() => client.close());
  return client.call;
}

const everything = {
  int64Value: "9007199254740993",
  strings: ["a", "é"],
  child: { kind: "KIND_AUDIO" },
  labels: { k: "v" },
  struct: { a: [1, null] },
  stringWrapper: "w",
  any: { "@type": "type.googleapis.com/library.v1.Repo", uid: "u" },
};

describe.each([
  ["HTTP/1.1", http1Client],
  ["HTTP/2", http2Client],
  ["HTTP/2, fast path", fastPathClient],
] as const)("%s", (_, createClient) => {
  test.each([protobuf, "application/protobuf", "Application/X-Protobuf; messageType=x"])(
    "a body of %s",
    async (type) => {
      const call = await clientWith({}, createClient);
      const request = wire(desc("Everything"), everything);
      const answer = await call("/v1/echo", { ...request, headers: { "content-type": type } });
      expect([answer.status, answer.headers["content-type"], answer.json]).toEqual([
        200,
        "application/json",
        everything,
      ]);
    },
  );

  test.each([protobuf, "application/protobuf"])("an answer of %s", async (type) => {
    const call = await clientWith({}, createClient);
    const answer = await call("/v1/echo", accepting(type, json(everything)));
    expect([answer.status, answer.headers["content-type"], answer.headers["content-length"]]).toEqual([
      200,
      type,
      String(answer.body.length),
    ]);
    expect(toJson(desc("Everything"), fromBinary(desc("Everything"), answer.body), { registry })).toEqual(everything);
  });

  test("compressed both ways, without a declared length", async () => {
    const call = await clientWith({}, createClient);
    const body = toBinary(desc("Everything"), create("Everything", { strings: Array(1000).fill("abc") }));
    const answer = await call("/v1/echo", {
      method: "POST",
      headers: {
        "content-type": protobuf,
        "content-encoding": "gzip",
        accept: protobuf,
        "accept-encoding": "gzip",
      },
      body: gzipSync(body),
      chunked: true,
    });
    expect([answer.headers["content-encoding"], answer.headers.vary]).toEqual(["gzip", "Accept, Accept-Encoding"]);
    expect(gunzipSync(answer.body).equals(body)).toBe(true);
  });

  test("HEAD", async () => {
    const call = await clientWith({}, createClient);
    const [whole, head] = [
      await call("/v1/repos/a", accepting(protobuf)),
      await call("/v1/repos/a", accepting(protobuf, { method: "HEAD" })),
    ];
    expect([head.status, head.body.length, head.headers["content-type"]]).toEqual([200, 0, protobuf]);
    expect(head.headers["content-length"]).toBe(String(whole.body.length));
  });

  test("If-None-Match", async () => {
    const call = await clientWith({}, createClient);
    const answer = await call("/v1/repos/a", { headers: { accept: protobuf, "if-none-match": '"1"' } });
    expect([answer.status, answer.body.length, answer.headers.vary]).toEqual([304, 0, "Accept, Accept-Encoding"]);
  });
});

test("by a fetch handler", async () => {
  const origin = await serveFetch(createFetchHandler({ transport, services: [library], protobufBodies: true }));
  const { body, ...request } = wire(desc("Everything"), everything);
  const response = await fetch(`${origin}/v1/echo`, { ...accepting(protobuf, request), body: body as never });
  expect(response.headers.get("content-type")).toBe(protobuf);
  expect(Buffer.from(await response.arrayBuffer()).equals(body as Uint8Array)).toBe(true);
});

test("is off by default", async () => {
  const call = await clientWith({ protobufBodies: undefined });
  expect((await call("/v1/echo", wire(desc("Everything"), everything))).status).toBe(415);
  expect((await call("/v1/repos/a", accepting(protobuf))).status).toBe(406);
  expect((await call("/v1/repos/a", accepting(`${protobuf}, */*;q=0.1`))).headers).toMatchObject({
    "content-type": "application/json",
    vary: "Accept-Encoding",
  });
});

test.each([
  [`${protobuf}, application/json`, "application/json"],
  ["application/*", "application/json"],
  ["*/*", "application/json"],
  [`${protobuf}, */*`, protobuf],
  [`${protobuf};q=0.5, application/json;q=0.4`, protobuf],
  [`${protobuf};q=0.4, application/json;q=0.5`, "application/json"],
  ["application/json;q=0, application/*", protobuf],
  [`${protobuf};q=0, application/protobuf;q=0.1`, "application/protobuf"],
])("Accept: %s is answered with %s", async (accept, type) => {
  const call = await clientWith();
  expect((await call("/v1/repos/a", accepting(accept))).headers["content-type"]).toBe(type);
});

describe("path and query", () => {
  const repo = { name: "n", uid: "body" };

  test("are added to a body", async () => {
    const call = await clientWith();
    await call("/v1/repos/g/h?validate_only=true", wire(desc("Repo"), repo));
    expect(seen.message).toMatchObject({ parent: "g/h", validateOnly: true, repo });
    await call("/v1/repos/u:move", wire(desc("MoveRepoRequest"), { uid: "body", target: "t" }));
    expect(seen.message).toMatchObject({ uid: "u", target: "t" });
  });

  test.each([
    ["/v1/repos/g?repo.name=x", desc("Repo"), /repo.name: is already given by the body/],
    ["/v1/repos/u:move?target=x", desc("MoveRepoRequest"), /target: unknown parameter/],
  ])("%s is refused", async (path, type, message) => {
    const answer = await (await clientWith())(path, wire(type, {}));
    expect([answer.status, answer.json.code, answer.json.message]).toEqual([400, 3, expect.stringMatching(message)]);
  });

  test("a PATCH has the mask of the query, or none", async () => {
    const call = await clientWith();
    await call("/v1/repos/a?update_mask=description", wire(desc("Repo"), { name: "n" }, "PATCH"));
    expect(seen.message).toMatchObject({ repo: { uid: "a", name: "n" }, updateMask: { paths: ["description"] } });
    await call("/v1/repos/a", wire(desc("Repo"), { name: "n" }, "PATCH"));
    expect(seen.message.updateMask).toBeUndefined();
  });
});

describe.each<[string, JsonValue]>([
  ["claim_match", { subject: "s" }],
  ["choice_match", { issuer: "i" }],
  ["create_time", "2024-01-31T12:34:56Z"],
  ["string_wrapper", "w"],
  ["int64_wrapper", "12"],
  ["choice_wrapper", "c"],
  ["struct", { a: [1, null, { b: "c" }] }],
  ["value", [true]],
  ["any", { "@type": "type.googleapis.com/library.v1.Repo", uid: "u" }],
])("body and response_body of %s", (name, value) => {
  const services = [libraryWith("Echo", post("/v1/field", { body: name, responseBody: name }))];
  const { message: type } = desc("Everything").fields.find((field) => field.name === name)!;

  test("from protobuf to JSON", async () => {
    const answer = await (await clientWith({ services }))("/v1/field", wire(type!, value));
    expect([answer.status, answer.json]).toEqual([200, value]);
  });

  test("from JSON to protobuf", async () => {
    const call = await clientWith({ services });
    const answer = await call("/v1/field", accepting(protobuf, json(JSON.stringify(value))));
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, protobuf]);
    expect(toJson(type!, fromBinary(type!, answer.body), { registry })).toEqual(value);
  });
});

test("an empty body is an empty message, and a field that is unset an empty body", async () => {
  const services = [libraryWith("Echo", post("/v1/field", { body: "create_time", responseBody: "claim_match" }))];
  const answer = await (await clientWith({ services }))("/v1/field", accepting(protobuf, wire(desc("ClaimMatch"), {})));
  expect([answer.status, answer.headers["content-type"], answer.body.length]).toEqual([200, protobuf, 0]);
  expect(seen.message.createTime).toMatchObject({ seconds: 0n, nanos: 0 });
});

describe.each(["string_value", "kind", "strings", "matches", "labels", "matches_by_flag"])(
  "%s is not a message",
  (name) => {
    const services = [libraryWith("Echo", post("/v1/field", { body: name, responseBody: name }))];

    test("as a body", async () => {
      const answer = await (await clientWith({ services }))("/v1/field", wire(desc("ClaimMatch"), { subject: "s" }));
      expect([answer.status, answer.json.message]).toEqual([
        415,
        `Invalid argument: the body, ${name}, is not a message: it must be JSON`,
      ]);
      expect(answer.headers.accept).toBe("application/json");
    });

    test("as an answer", async () => {
      const call = await clientWith({ services });
      const request = { method: "POST" };
      const refused = await call("/v1/field", accepting(protobuf, request));
      expect([refused.status, refused.headers["content-type"]]).toEqual([406, "application/json"]);
      const answer = await call("/v1/field", accepting(`${protobuf}, application/json;q=0.1`, request));
      expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
    });
  },
);

describe("is refused:", () => {
  test.each([
    ["an invalid tag", new Uint8Array([0]), /malformed protobuf message/],
    ["a field that is cut off", new Uint8Array([122, 5, 65]), /malformed protobuf message/],
    ["text that is not UTF-8", new Uint8Array([114, 1, 255]), /malformed protobuf message/],
    ["too many fields", new Uint8Array(200_000).map((_, index) => (index % 2 ? 1 : 24)), /too many fields/],
  ])("%s", async (_, body, message) => {
    const answer = await (await clientWith())("/v1/echo", { ...wire(desc("Everything"), {}), body });
    expect([answer.status, answer.headers["content-type"]]).toEqual([400, "application/json"]);
    expect(answer.json).toMatchObject({ code: 3, message: expect.stringMatching(message) });
  });

  test("a body that is too large", async () => {
    const call = await clientWith({ limits: { maxBodyBytes: 10 } });
    const request = wire(desc("Everything"), { stringValue: "a text that is long" });
    for (const chunked of [true, false]) expect((await call("/v1/echo", { ...request, chunked })).status).toBe(413);
  });

  test("another type, with all that are taken", async () => {
    const call = await clientWith({ jsonTypes: ["application/merge-patch+json"] });
    const answer = await call("/v1/echo", { ...json({}), headers: { "content-type": "text/plain" } });
    const others = ["application/merge-patch+json", protobuf, "application/protobuf"];
    expect([answer.status, answer.json.message, answer.headers.accept]).toEqual([
      415,
      `Invalid argument: the body must be ${["application/json in UTF-8", ...others].join(" or ")}`,
      ["application/json", ...others].join(", "),
    ]);
  });

  test("a stream of answers in protobuf", async () => {
    const call = await clientWith();
    const answer = await call("/v1/watch?count=1", accepting(protobuf));
    expect([answer.status, answer.json.code]).toEqual([406, 3]);
    expect((await call("/v1/watch?count=1", accepting(`${protobuf}, */*;q=0.1`))).json).toEqual([{ name: "0" }]);
  });

  test("a stream of requests in protobuf", async () => {
    expect((await (await clientWith())("/v1/collect/d", wire(desc("Repo"), { name: "n" }))).status).toBe(415);
  });
});

test("errors are JSON", async () => {
  const answer = await (await clientWith())("/v1/images/5", accepting(protobuf));
  expect([answer.status, answer.headers["content-type"], answer.json]).toEqual([
    404,
    "application/json",
    { code: 5, message: "error 5", details: [] },
  ]);
});

test("unknown fields are kept", async () => {
  const body = new Uint8Array([...toBinary(desc("Repo"), create("Repo", { name: "n" })), 0xa0, 0x06, 1]);
  const services = [libraryWith("CreateRepo", post("/v1/repos", { body: "repo" }))];
  const call = await clientWith({ services });
  await call("/v1/repos", { method: "POST", headers: { "content-type": protobuf }, body });
  expect(seen.message.repo.$unknown).toMatchObject([{ no: 100 }]);
});

test("a google.api.HttpBody stays as it is", async () => {
  const call = await clientWith();
  const headers = { "content-type": protobuf };
  const body = Buffer.from("no message");
  const answer = await call("/v1/files/a", accepting("text/plain", { method: "PUT", headers, body }));
  expect([answer.status, answer.headers["content-type"], answer.text]).toEqual([200, protobuf, "no message"]);
  expect((await call("/v1/files/a", accepting(protobuf))).headers["content-type"]).toBe("text/markdown");
});

test("the answer to a client stream", async () => {
  const call = await clientWith();
  const headers = { "content-type": "application/x-ndjson" };
  const answer = await call("/v1/collect/d", accepting(protobuf, { method: "POST", headers, body: '{"name":"a"}' }));
  expect(answer.headers["content-type"]).toBe(protobuf);
  expect(fromBinary(desc("ListReposResponse"), answer.body)).toMatchObject({
    repos: [{ name: "a", description: "d" }],
  });
});

test.each([
  ["object", protobuf],
  ["nothing", undefined],
] as const)("emptyAnswer: %s", async (emptyAnswer, type) => {
  const call = await clientWith({ emptyAnswer });
  const answer = await call("/v1/repos/a", accepting(protobuf, { method: "DELETE" }));
  expect([answer.status, answer.body.length, answer.headers["content-type"]]).toEqual([200, 0, type]);
});

test("rewriteAnswer gets the bytes", async () => {
  const call = await clientWith({
    rewriteAnswer: ({ body, ...answer }) => ({
      ...answer,
      httpStatus: 201,
      body: Buffer.concat([body as Uint8Array, body as Uint8Array]),
    }),
  });
  const answer = await call("/v1/repos/a", accepting(protobuf));
  expect([answer.status, answer.body]).toEqual([201, Buffer.from("\n\u0001a\n\u0001a")]);
});

test("a method that may answer in parts answers whole", async () => {
  const callers: unknown[] = [];
  const begin: NonNullable<RestOptions["transport"]["begin"]> = (_method, _message, _header, _timeoutMs, caller) => {
    callers.push(caller);
    const message = create("ListReposResponse", { totalCount: 1n });
    return { answer: { message, touchedHeader: undefined, touchedTrailer: undefined }, cancel() {} };
  };
  const call = await clientWith({ transport: { ...transport, begin }, mayAnswerInParts: () => true });
  const answer = await call("/v1/repos", accepting(protobuf));
  expect([callers, fromBinary(desc("ListReposResponse"), answer.body)]).toMatchObject([
    [undefined],
    { totalCount: 1n },
  ]);
});

test("Vary is added to that of the host", async () => {
  const call = await clientWith({ cors: { origins: ["*"] } });
  expect((await call("/v1/repos/a", accepting(protobuf))).headers.vary).toBe("Origin, Accept, Accept-Encoding");
  expect((await call("/v1/repos/a", accepting("text/html"))).headers.vary).toBe("Origin, Accept, Accept-Encoding");
});

test("a body that a middleware has read", async () => {
  const read = (body: unknown) => async (request: Any, response: Any) => {
    await request.toArray();
    return handler(Object.assign(request, { body }), response);
  };
  const handler = handlerWith({ protobufBodies: true, json: {} });
  for (const [body, status] of [
    [Buffer.from("r\u0001a"), 200],
    [{}, 500],
  ] as const) {
    const client = await http1Client(read(body));
    onTestFinished(() => client.close());
    const answer = await client.call("/v1/echo", wire(desc("Everything"), { stringValue: "a" }));
    expect([answer.status, answer.json.stringValue]).toEqual([status, status === 200 ? "a" : undefined]);
  }
});
