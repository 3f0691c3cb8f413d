/**
 * No request costs much before it is refused. Every field of every request is filled with what is widest, deepest or
 * most often repeated, up to the largest body that is taken, over REST, Connect with JSON and Connect with binary
 * messages. What counts is CPU time of the process, the client's included, against reading plain JSON of that size in
 * the same run. On SQLite, whose work is in this process, and counts.
 */
import { Agent, request as httpRequest } from "node:http";
import { type DescField, type DescMessage, type DescMethodUnary, getOption, ScalarType } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { allMethods, type Json } from "./contract.ts";
import { methodFixtures } from "./method-fixtures.ts";
import { onSqlite, type Platform } from "./platform.ts";
import { restRequest } from "./rest-client.ts";

const maxBytes = 1024 * 1024;
/** As many small values as are read at all. */
const manyValues = 49_000;
/** How many times what reading JSON of numbers takes; 7 ms are usual for that. */
const maxRatio = 10;
/** Of so many that seem dear the cost is measured again. */
const suspects = 12;

interface Call {
  readonly name: string;
  readonly verb: string;
  readonly target: string;
  readonly type: string;
  /** Made when it is needed: all together they would not fit. */
  body(): Buffer | undefined;
}

interface Cost extends Call {
  readonly ms: number;
  readonly status: number;
  readonly answerBytes: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function send(platform: Platform, { verb, target, type }: Call, body: Buffer | undefined, token: string | undefined) {
  const { hostname, port } = new URL(platform.baseUrl);
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { "content-type": type, "content-length": body.length }),
  };
  return new Promise<{ status: number; answerBytes: number }>((resolve, reject) => {
    const request = httpRequest({ hostname, port, method: verb, path: target, headers, agent }, (response) => {
      let answerBytes = 0;
      response.on("data", (chunk: Buffer) => {
        answerBytes += chunk.length;
      });
      response.on("end", () => resolve({ status: response.statusCode!, answerBytes }));
      response.on("error", reject);
    });
    request.on("error", reject).end(body);
  });
}

function cpuMs(startUs: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(startUs);
  return (user + system) / 1000;
}

async function costOf(platform: Platform, call: Call, token: string | undefined): Promise<Cost> {
  const body = call.body();
  const start = process.cpuUsage();
  const answer = await send(platform, call, body, token);
  return { ...call, ...answer, ms: cpuMs(start) };
}

/** What reading JSON of the size of the largest body takes. */
function baselineMs(): number {
  const text = `[${"1,".repeat(maxBytes / 2 - 2)}1]`;
  const times = Array.from({ length: 7 }, () => {
    const start = process.cpuUsage();
    JSON.parse(Buffer.from(text).toString());
    return cpuMs(start);
  });
  return times.sort((a, b) => a - b)[3]!;
}

const repeated = (item: string, bytes: number) => `[${Array(Math.floor(bytes / (item.length + 1))).fill(item)}]`;
const bodyBytes = maxBytes - 4096;

/** JSON texts that a field may be given, each up to the largest body. */
function abuses(field: DescField): [string, () => string][] {
  const long = () => JSON.stringify("\u00e9\u0001".repeat(bodyBytes / 8));
  const isMask = field.message?.typeName === "google.protobuf.FieldMask";
  if (field.fieldKind === "map") {
    const entry = (_: unknown, i: number) => `"${i}":${field.message ? "{}" : '""'}`;
    return [["many entries", () => `{${Array.from({ length: manyValues }, entry).join()}}`]];
  }
  if (field.fieldKind === "list") {
    const items = [field.message ? "{}" : field.enum ? "99" : '""', '"x"'];
    return [
      ...items.map((item): [string, () => string] => [
        `many of ${item}`,
        () => repeated(item, manyValues * (item.length + 1)),
      ]),
      ["a long text", () => `[${long()}]`],
    ];
  }
  if (isMask)
    return [
      ["many paths", () => JSON.stringify("name,".repeat(bodyBytes / 5))],
      ["many unknown paths", () => JSON.stringify("aB,".repeat(bodyBytes / 3))],
    ];
  return field.scalar === ScalarType.STRING ? [["a long text", long]] : [];
}

/** Paths to fields, below singular messages and the items of lists. */
function fieldsBelow(desc: DescMessage, depth = 3): DescField[][] {
  if (depth === 0 || desc.typeName.startsWith("google.protobuf.")) return [];
  return desc.fields.flatMap((field) => {
    const below = field.message === undefined ? [] : fieldsBelow(field.message, depth - 1);
    return [[field], ...below.map((path) => [field, ...path])];
  });
}

/** The request with that JSON text in place of a field. */
function withText(request: Json, path: readonly DescField[], text: string): string {
  const marker = "\ue000";
  const copy = structuredClone(request);
  let place = copy;
  for (const [depth, field] of path.entries()) {
    if (depth === path.length - 1) place[field.jsonName] = marker;
    else {
      if (field.fieldKind === "list") place[field.jsonName] = [{}];
      else if (field.fieldKind === "map") place[field.jsonName] = { 0: {} };
      else place[field.jsonName] ??= {};
      const below = place[field.jsonName];
      place = field.fieldKind === "list" || field.fieldKind === "map" ? below[0] : below;
    }
  }
  return JSON.stringify(copy).replace(JSON.stringify(marker), () => text);
}

function connectPath({ parent, name }: DescMethodUnary): string {
  return `/${parent.typeName}/${name}`;
}

/**
 * The calls whose request holds a JSON text in place of a field: over Connect and, where it is a list, map or mask in
 * the body, over REST.
 */
function jsonCalls(
  method: DescMethodUnary,
  request: Json,
  path: DescField[],
  [what, text]: [string, () => string],
): Call[] {
  const name = `${method.name} ${path.map((field) => field.name).join(".")}: ${what}`;
  const type = "application/json";
  const connect = {
    name: `Connect ${name}`,
    verb: "POST",
    target: connectPath(method),
    type,
    body: () => Buffer.from(withText(request, path, text())),
  };
  const { body } = getOption(method, http);
  const inner = body === "*" ? path : path.slice(1);
  const isInBody = inner.length > 0 && (body === "*" || path[0]!.name === body);
  if (!isInBody || path.at(-1)!.fieldKind === "scalar") return [connect];
  const { verb, target } = restRequest(method, request);
  const whole = body === "*" ? request : (request[path[0]!.jsonName] ?? {});
  return [
    connect,
    { name: `REST ${name}`, verb, target, type, body: () => Buffer.from(withText(whole, inner, text())) },
  ];
}

/** Messages in the wire format: as many fields of one number as are read. */
function binaryCalls(method: DescMethodUnary): Call[] {
  const target = connectPath(method);
  return fieldsBelow(method.input, 2).flatMap((path): Call[] => {
    const field = path.at(-1)!;
    const one = new BinaryWriter();
    if (field.message !== undefined || field.fieldKind === "map")
      one.tag(field.number, WireType.LengthDelimited).uint32(0);
    else if (field.enum !== undefined) one.tag(field.number, WireType.Varint).int32(99);
    else one.tag(field.number, WireType.LengthDelimited).uint32(1).raw(Buffer.from("\n"));
    const bytes = one.finish();
    const name = `binary ${method.name} ${path.map(({ name }) => name).join(".")}`;
    const body = () => {
      const content = Buffer.alloc(manyValues * bytes.length, bytes);
      const wrapped = path
        .slice(0, -1)
        .reduceRight<Uint8Array<ArrayBuffer>>(
          (inner, { number }) => new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(inner).finish(),
          new Uint8Array(content),
        );
      return Buffer.from(wrapped);
    };
    return [{ name, verb: "POST", target, type: "application/proto", body }];
  });
}

/** What costs the same whatever the method is. */
function generalCalls(): Call[] {
  const texts: [string, string][] = [
    ["empty objects", repeated("{}", bodyBytes)],
    ["empty arrays", `{"x":${repeated("[]", bodyBytes)}}`],
    ["nested arrays", `{"x":${repeated(`${"[".repeat(98)}${"]".repeat(98)}`, bodyBytes)}}`],
    ["arrays without end", "[".repeat(bodyBytes)],
    ["unknown keys", `{${Array.from({ length: 90_000 }, (_, i) => `"k${i}":1`)}}`],
    ["escapes", `{"x":"${"\\u0041".repeat(bodyBytes / 6)}"`],
    ["spaces", `{${" ".repeat(bodyBytes)}`],
    ["numbers", `{"x":${repeated("1e5", bodyBytes)}}`],
    ["a long number", `{"pageSize":${"1".repeat(bodyBytes)}}`],
    ["malformed UTF-8", `{"name":"${"x".repeat(bodyBytes)}`],
  ];
  const group = (tag: number) => Buffer.alloc(bodyBytes, Buffer.from([tag]));
  const binaries: [string, Buffer][] = [
    ["unknown fields", Buffer.alloc(bodyBytes, Buffer.from([0xf8, 0x7f, 0]))],
    ["groups without end", group(0x0b)],
    ["groups", Buffer.alloc(bodyBytes, Buffer.from([0x0b, 0x0c]))],
    ["packed numbers", group(0)],
  ];
  const target = "/platform.registry.v2.ReposService/ListRepos";
  return [
    ...texts.flatMap(([name, text]): Call[] => [
      { name: `Connect ${name}`, verb: "POST", target, type: "application/json", body: () => Buffer.from(text) },
      {
        name: `REST ${name}`,
        verb: "POST",
        target: "/iam/v2/groups",
        type: "application/json",
        body: () => Buffer.from(text),
      },
    ]),
    ...binaries.map(([name, body]) => ({
      name: `binary ${name}`,
      verb: "POST",
      target,
      type: "application/proto",
      body: () => body,
    })),
    ...["a&", "name=x&", "%zz&", "uidp.ids=x&", "page_size=1&", "a.b.c[x]=1&"].map((parameter) => ({
      name: `REST ?${parameter}`,
      verb: "GET",
      target: `/registry/v2/repos?${parameter.repeat(8000 / parameter.length)}`,
      type: "",
      body: () => undefined,
    })),
  ];
}

onSqlite("the cost of a refusal", (platform) => {
  test("is small for every field of every method, and so is its answer", { timeout: 900_000 }, async () => {
    const ofFields: Call[] = [];
    for (const [name, fixture] of Object.entries(methodFixtures)) {
      const method = allMethods.get(name)!;
      const request = await fixture.request(platform(), platform().root);
      for (const path of fieldsBelow(method.input))
        for (const abuse of abuses(path.at(-1)!)) ofFields.push(...jsonCalls(method, request, path, abuse));
      ofFields.push(...binaryCalls(method));
    }
    const calls = [...generalCalls(), ...ofFields];
    for (const call of calls.slice(0, 40)) await costOf(platform(), call, platform().admin);
    const costs: Cost[] = [];
    for (const call of calls) costs.push(await costOf(platform(), call, platform().admin));
    const refused = costs.filter(({ status }) => status >= 400);
    expect(refused.length).toBeGreaterThan(calls.length / 2);
    expect(refused.filter(({ status }) => status >= 500)).toEqual([]);
    for (const { name, answerBytes } of refused) expect(answerBytes, name).toBeLessThan(16 * 1024);

    const dearest = refused.toSorted((a, b) => b.ms - a.ms).slice(0, suspects);
    for (const token of [platform().admin, undefined]) {
      const again: Cost[] = [];
      for (const call of dearest) {
        const times = [];
        for (let i = 0; i < 5; i++) times.push(await costOf(platform(), call, token));
        again.push(times.sort((a, b) => a.ms - b.ms)[1]!);
      }
      const [most] = again.toSorted((a, b) => b.ms - a.ms);
      const baseline = baselineMs();
      const who = token === undefined ? "anonymous" : "authenticated";
      console.info(
        `${calls.length} requests; the dearest ${who}: ${most!.name}, ${most!.ms.toFixed(1)} ms of CPU; baseline ${baseline.toFixed(1)} ms`,
      );
      expect(most!.ms / baseline, most!.name).toBeLessThan(maxRatio);
    }
  });
});
