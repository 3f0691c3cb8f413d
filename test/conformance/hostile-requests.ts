/**
 * Requests that cost as much as a client can make them cost: every field of every request filled with what is widest,
 * deepest or most often repeated, up to the largest body that is taken, over REST, Connect with JSON and Connect with
 * binary messages; the same for the endpoints of no service.
 */
import { gzipSync } from "node:zlib";
import { type DescField, type DescMessage, type DescMethodUnary, getOption, ScalarType } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { allMethods, type Json } from "./contract.ts";
import { methodFixtures } from "./method-fixtures.ts";
import type { Platform } from "./platform.ts";
import { restRequest } from "./rest-client.ts";

const maxBytes = 1024 * 1024;
/** As many small values as are read at all. */
const manyValues = 49_000;
/** The same where one has a few members. */
const manyScimValues = 10_000;

/** A request. */
export interface HostileRequest {
  readonly name: string;
  readonly verb: string;
  readonly target: string;
  readonly type: string;
  readonly coding?: string;
  /** Made when it is needed: all together they would not fit. */
  body(): Buffer | undefined;
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
): HostileRequest[] {
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
function binaryCalls(method: DescMethodUnary): HostileRequest[] {
  const target = connectPath(method);
  return fieldsBelow(method.input, 2).flatMap((path): HostileRequest[] => {
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
function generalCalls(): HostileRequest[] {
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
    ...texts.flatMap(([name, text]): HostileRequest[] => [
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

/** Calls of every method, and what costs the same whatever the method is. */
export async function hostileCalls(platform: Platform): Promise<HostileRequest[]> {
  const calls = generalCalls();
  for (const [name, fixture] of Object.entries(methodFixtures)) {
    const method = allMethods.get(name)!;
    const request = await fixture.request(platform, platform.root);
    calls.push(plainCall(method, request));
    for (const path of fieldsBelow(method.input))
      for (const abuse of abuses(path.at(-1)!)) calls.push(...jsonCalls(method, request, path, abuse));
    calls.push(...binaryCalls(method));
  }
  return calls;
}

function plainCall(method: DescMethodUnary, request: Json): HostileRequest {
  const { verb, target, body } = restRequest(method, request);
  const bytes = () => (body === undefined ? undefined : Buffer.from(body));
  return { name: `REST ${method.name}`, verb, target, type: "application/json", body: bytes };
}

/** Requests to the token exchange. */
export function hostileExchanges(): HostileRequest[] {
  const form = "application/x-www-form-urlencoded";
  const texts: [string, string, string][] = [
    [
      "a long token",
      form,
      `grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token=${"a.".repeat(8000)}`,
    ],
    ["many parameters", form, "a=b&".repeat(4000)],
    ["many scopes", form, `grant_type=refresh_token&refresh_token=x&scope=${"a%20".repeat(4000)}`],
    ["nested JSON", "application/json", `{"scopes":${"[".repeat(8000)}`],
    ["many scopes in JSON", "application/json", `{"scopes":${repeated('""', 16_000)}}`],
    ["1 MiB", "application/json", `{"scopes":${repeated('""', bodyBytes)}}`],
  ];
  return ["/sts/exchange", "/sts/exchange_refresh_token", "/sts/revoke"].flatMap((target) =>
    texts.map(([name, type, text]) => ({
      name: `${target} ${name}`,
      verb: "POST",
      target,
      type,
      body: () => Buffer.from(text),
    })),
  );
}

/** Requests of a provisioning client, about a user and a group. */
export function hostileScim(user: string, group: string): HostileRequest[] {
  const type = "application/scim+json";
  const many = (item: (i: number) => string, count = manyScimValues) =>
    Array.from({ length: count }, (_, i) => item(i)).join();
  const values = () => many((i) => `{"value":"${i}"}`);
  const patch = (operations: string) => `{"Operations":[${operations}]}`;
  const bodies: [string, string, string, () => string][] = [
    ["add many values", "PATCH", `/Users/${user}`, () => patch(`{"op":"add","path":"emails","value":[${values()}]}`)],
    [
      "replace by many values",
      "PATCH",
      `/Users/${user}`,
      () => patch(`{"op":"replace","value":{"emails":[${values()}]}}`),
    ],
    [
      "many operations",
      "PATCH",
      `/Users/${user}`,
      () => patch(many((i) => `{"op":"add","path":"nickName","value":"${i}"}`)),
    ],
    [
      "many operations with filters",
      "PATCH",
      `/Users/${user}`,
      () => patch(many((i) => `{"op":"replace","path":"emails[value eq \\"${i}\\"].type","value":"work"}`)),
    ],
    [
      "a long filter in a path",
      "PATCH",
      `/Users/${user}`,
      () => patch(`{"op":"remove","path":"emails[${"(".repeat(bodyBytes / 2)}"}`),
    ],
    [
      "many values and operations with filters",
      "PATCH",
      `/Users/${user}`,
      () =>
        patch(
          `{"op":"add","path":"emails","value":[${many((i) => `{"value":"${i}"}`, 500)}]},${many((i) => `{"op":"replace","path":"emails[value eq \\"${i}\\" and not (type eq \\"x\\")].type","value":"work"}`, 900)}`,
        ),
    ],
    ["many members", "PATCH", `/Groups/${group}`, () => patch(`{"op":"add","path":"members","value":[${values()}]}`)],
    ["many attributes", "PUT", `/Users/${user}`, () => `{"userName":"x",${many((i) => `"a${i}":"b"`)}}`],
    ["a user with many values", "POST", "/Users", () => `{"userName":"x","emails":[${values()}]}`],
    ["a group with many members", "POST", "/Groups", () => `{"displayName":"x","members":[${values()}]}`],
    ["search for many attributes", "POST", "/Users/.search", () => `{"attributes":[${many((i) => `"a${i}"`)}]}`],
    [
      "search for attributes in one text",
      "POST",
      "/Users/.search",
      () => `{"attributes":"${"a,".repeat(bodyBytes / 2)}"}`,
    ],
    ["search without many", "POST", "/.search", () => `{"excludedAttributes":[${many((i) => `"a${i}"`)}]}`],
    [
      "search by a long filter",
      "POST",
      "/Users/.search",
      () => `{"filter":"${"userName pr and ".repeat(bodyBytes / 16)}userName pr"}`,
    ],
    ["search by a deep filter", "POST", "/Users/.search", () => `{"filter":"${"not (".repeat(bodyBytes / 5)}"}`],
  ];
  return [
    ...bodies.map(([name, verb, path, text]) => ({
      name: `SCIM ${name}`,
      verb,
      target: `/scim/v2${path}`,
      type,
      body: () => Buffer.from(text()),
    })),
    ...[
      `filter=${encodeURIComponent("userName pr or ".repeat(500))}userName%20pr`,
      `attributes=${"a,".repeat(4000)}`,
    ].map((query) => ({
      name: `SCIM ?${query.slice(0, 10)}`,
      verb: "GET",
      target: `/scim/v2/Users?${query}`,
      type,
      body: () => undefined,
    })),
  ];
}

/** A body that is small on the wire. */
export function compressed(): HostileRequest[] {
  const text = () => gzipSync(Buffer.from(`{"x":${repeated("{}", bodyBytes)}}`));
  const to = (name: string, target: string) => ({
    name,
    verb: "POST",
    target,
    type: "application/json",
    coding: "gzip",
    body: text,
  });
  return [to("REST gzip", "/iam/v2/groups"), to("Connect gzip", "/platform.registry.v2.ReposService/ListRepos")];
}
