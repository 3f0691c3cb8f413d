/** Documents that are made at run time, held against what the REST handler with the same options answers. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileRegistry, type DescService, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createOpenApi } from "../../src/openapi/package.ts";
import { createRestHandler, fromRouter, type RestOptions } from "../../src/rest/index.ts";
import { repository } from "../cli/platform-process.ts";
import { library, registry } from "../rest/fixture.ts";
import { transport } from "../rest/service.ts";
import { findingsIn } from "./findings.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document and services of descriptors have any shape
type Any = any;

const info = {
  title: "Eliza",
  version: "1.0.0",
  description: "Talks.",
  contact: { name: "Eliza" },
  license: { name: "MIT", identifier: "MIT" },
};

/** ELIZA, from a descriptor set with source info and from one without. */
let commented: DescService;
let eliza: DescService;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-"));
  cpSync(join(repository, "packages/rest/proto"), folder, { recursive: true });
  cpSync(join(repository, "test/examples/eliza.proto"), join(folder, "eliza.proto"));
  const serviceOf = (file: string, ...options: string[]) => {
    const args = ["build", "--path", "eliza.proto", "--as-file-descriptor-set", "-o", file, ...options];
    execFileSync(join(repository, "node_modules/.bin/buf"), args, { cwd: folder });
    const set = fromBinary(FileDescriptorSetSchema, readFileSync(join(folder, file)));
    return createFileRegistry(set).getService("connectrpc.eliza.v1.ElizaService")!;
  };
  commented = serviceOf("commented.binpb");
  eliza = serviceOf("plain.binpb", "--exclude-source-info");
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const say = ({ sentence }: Any) => ({ sentence });
async function* introduce({ name }: Any) {
  yield { sentence: `Hi ${name}.` };
}

/** Serves until the test ends. Returns a function that calls an operation of the document, and checks the answer. */
async function serve(options: RestOptions, document: Any) {
  const server = createServer(createRestHandler({ onSkipped() {}, ...options }));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true });
  addFormats.default(ajv);
  ajv.addSchema(closed(document) as object, "document");
  return async (template: string, target: string, init: RequestInit = {}): Promise<Any> => {
    const response = await fetch(origin + target, init);
    const answer: unknown = await response.json();
    const place = `/paths/${template.replaceAll("/", "~1")}/${(init.method ?? "GET").toLowerCase()}/responses`;
    const { responses } = document.paths[template][(init.method ?? "GET").toLowerCase()];
    const { $ref } = responses[response.status] ?? responses.default;
    const pointer = $ref?.slice(1) ?? `${place}/${response.status}`;
    const validate = ajv.compile({
      $ref: `document#${encodeURI(`${pointer}/content/application~1json/schema`)}`,
    });
    expect(validate(answer), `${ajv.errorsText(validate.errors)} in ${JSON.stringify(answer)}`).toBe(true);
    return answer;
  };
}

/** The document with schemas that take no other properties than theirs. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const copy: Any = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closed(inner)]));
  const isOpen = copy.type !== "object" || copy.properties === undefined || copy.title === "ErrorDetail";
  return isOpen ? copy : { additionalProperties: false, ...copy };
}

const post = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

test("ELIZA below a base path, as it is served", async () => {
  const served = fromRouter((router: ConnectRouter) => router.service(eliza, { say, introduce } as Any));
  const options = { ...served, basePath: "/api" };
  const document: Any = createOpenApi(options, { info, servers: [{ url: "https://eliza.example" }] });
  expect(await findingsIn(document)).toEqual([]);
  expect([document.info, document.servers]).toEqual([info, [{ url: "https://eliza.example" }]]);
  expect(Object.keys(document.paths)).toEqual([
    "/api/v1/people/{name}/introduction",
    "/api/v1/sentences",
    "/api/v1/sentences/{sentence}",
  ]);
  const call = await serve(options, document);
  expect(await call("/api/v1/sentences", "/api/v1/sentences", post({ sentence: "Hello" }))).toEqual({
    sentence: "Hello",
  });
  expect(await call("/api/v1/sentences", "/api/v1/sentences", post({}))).toEqual({});
  expect(await call("/api/v1/sentences/{sentence}", "/api/v1/sentences/Hello?nope=1")).toMatchObject({ code: 3 });
  expect(await call("/api/v1/people/{name}/introduction", "/api/v1/people/Ada/introduction")).toHaveLength(1);
});

test("rules instead of annotations", () => {
  const httpRules = { rules: [{ selector: "connectrpc.eliza.v1.ElizaService.Say", put: "/say", body: "sentence" }] };
  const document: Any = createOpenApi({ services: [eliza], httpRules }, { info });
  expect(Object.keys(document.paths)).toEqual(["/say", "/v1/people/{name}/introduction"]);
  expect(document.paths["/say"].put.requestBody.content).toEqual({
    "application/json": { schema: { type: "string" } },
  });
});

test("comments, where the descriptors have them", () => {
  const summaryOf = (service: DescService) =>
    (createOpenApi({ services: [service] }, { info }) as Any).paths["/v1/sentences"].post.summary;
  expect(summaryOf(commented)).toBe("Say answers one sentence");
  expect(summaryOf(eliza)).toBe("Say");
});

test("security of all operations", () => {
  const security = { schemes: { bearer: { type: "http", scheme: "bearer" } }, required: [{ bearer: [] }] };
  const document: Any = createOpenApi({ services: [eliza] }, { info, security });
  expect([document.security, document.components.securitySchemes]).toEqual([[{ bearer: [] }], security.schemes]);
});

/** A handler and a document of the library with the same options. */
const withOptions = async (given: Partial<RestOptions>) => {
  const options = { transport, services: [library], registry, ...given };
  const document: Any = createOpenApi(options, { info });
  return { document, call: await serve(options, document) };
};
const echoed = { stringValue: "s", kind: "KIND_AUDIO", kinds: [1], choiceKind: "KIND_PAPER", "@odd": "o" };

test.each<Partial<RestOptions>>([
  {},
  { json: { useProtoFieldName: true } },
  { json: { enumAsInteger: true } },
  { json: { alwaysEmitImplicit: true, timestampPrecision: "milliseconds" } },
])("every kind of field with %j", async (options) => {
  const { call, document } = await withOptions(options);
  const answer = await call("/v1/echo", "/v1/echo", post({ ...echoed, createTime: "2026-01-01T00:00:00Z" }));
  const { useProtoFieldName, enumAsInteger } = options.json ?? {};
  expect(answer[useProtoFieldName ? "string_value" : "stringValue"]).toBe("s");
  expect(answer.kind).toBe(enumAsInteger ? 2 : "KIND_AUDIO");
  expect(document.components.schemas.Kind.enum[2]).toBe(answer.kind);
  await call("/v1/repos", "/v1/repos?page_size=2");
});

test("required is what every answer has", async () => {
  const requiredOf = async (alwaysEmitImplicit: boolean) =>
    (await withOptions({ json: { alwaysEmitImplicit } })).document.components.schemas.ListReposResponse.required;
  expect(await requiredOf(false)).toBeUndefined();
  expect(await requiredOf(true)).toEqual(["repos", "totalCount", "skipped"]);
});

test.each<[RestOptions["errors"], unknown]>([
  ["flat", { code: 5 }],
  ["aip-193", { error: { code: 404, status: "NOT_FOUND" } }],
  [({ rawMessage }) => rawMessage, "error 5"],
])("errors %s", async (errors, expected) => {
  const { call } = await withOptions({ errors });
  const answer = await call("/v1/images/{digest}", "/v1/images/5");
  if (typeof expected === "string") expect(answer).toBe(expected);
  else expect(answer).toMatchObject(expected as object);
});

test("an empty answer is an object, or nothing", async () => {
  const { call } = await withOptions({});
  expect(await call("/v1/repos/{uid}", "/v1/repos/a", { method: "DELETE" })).toEqual({});
  const { document } = await withOptions({ emptyAnswer: "nothing" });
  expect(document.paths["/v1/repos/{uid}"].delete.responses["200"]).not.toHaveProperty("content");
});

test("media types of bodies", async () => {
  const { document } = await withOptions({ jsonTypes: ["application/merge-patch+json"], protobufBodies: true });
  const { requestBody, responses } = document.paths["/v1/repos/{uid}"].patch;
  expect(Object.keys(requestBody.content)).toEqual([
    "application/json",
    "application/merge-patch+json",
    "application/x-protobuf",
  ]);
  expect(Object.keys(responses["200"].content)).toEqual(["application/json", "application/x-protobuf"]);
});

test("bodies that are values, client streams, and methods that OpenAPI lacks", async () => {
  const { document } = await withOptions({});
  const bodyOf = (path: string) => document.paths[path].post.requestBody.content;
  expect(bodyOf("/v1/echo/value")).toEqual({ "application/json": { schema: {} } });
  expect(Object.keys(bodyOf("/v1/collect/{description}"))).toEqual(["application/x-ndjson"]);
  expect(Object.keys(bodyOf("/v1/uploads/{uid}"))).toEqual(["*/*"]);
  expect(Object.keys(document.paths["/v1/echo"]).sort()).toEqual(["get", "post"]);
  expect((await findingsIn(document)).filter((finding) => finding.startsWith("schema"))).toEqual([]);
});
