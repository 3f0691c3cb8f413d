import { clone, create as createMessage, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { Violations } from "../../src/codec/index.ts";
import { type Binding, readBindings } from "../../src/rest/binding.ts";
import { createQueryReader } from "../../src/rest/request/query.ts";
import { type Any, compile, create, fileProto, get, library, libraryWith, post } from "./fixture.ts";

const bindings = readBindings([library]);
const bindingOf = (method: string, httpMethod: string): Binding =>
  bindings.find((binding) => binding.method.name === method && binding.httpMethod === httpMethod)!;

function read(binding: Binding, query: string, ignoreUnknown = false) {
  const violations = new Violations();
  const message = create(binding.method.input.name);
  createQueryReader(binding, ignoreUnknown)(query, message, violations);
  return { message, violations: violations.list.map(({ field, description }) => `${field}: ${description}`) };
}

const everything = bindingOf("Echo", "GET");

test.each<[string, object]>([
  ["", {}],
  ["&&", {}],
  ["stringValue=a", { stringValue: "a" }],
  ["string_value=a", { stringValue: "a" }],
  ["string_value", { stringValue: "" }],
  ["string_value=a=b", { stringValue: "a=b" }],
  ["string_value=a+b%2B%20c", { stringValue: "a b+ c" }],
  ["string%5Fvalue=%C3%A9", { stringValue: "é" }],
  ["optional_string=", { optionalString: "" }],
  ["%40odd=x&constructor=y", { oddName: "x", constructor$: "y" }],
  ["claimMatch.subject=s&claim_match.issuer=i", { claimMatch: { subject: "s", issuer: "i" } }],
  ["child.claimMatch.subject=s&child.stringValue=x", { child: { claimMatch: { subject: "s" }, stringValue: "x" } }],
  ["strings=a&strings=b&strings=", { strings: ["a", "b", ""] }],
  ["int32s=1&int32s=-2", { int32s: [1, -2] }],
  ["child.strings=a&child.strings=b", { child: { strings: ["a", "b"] } }],
  ["int32_value=-12&uint32_value=4294967295", { int32Value: -12, uint32Value: 4294967295 }],
  ["int64_value=9007199254740993", { int64Value: 9007199254740993n }],
  ["long_string=12", { longString: "12" }],
  ["double_value=1.5e3&float_value=-Infinity", { doubleValue: 1500, floatValue: Number.NEGATIVE_INFINITY }],
  ["bool_value=true", { boolValue: true }],
  ["bool_value=1", { boolValue: true }],
  ["bool_value=0", {}],
  ["bool_wrapper=false", { boolWrapper: false }],
  ["bytes_value=%2B%2F8%3D", { bytesValue: new Uint8Array([251, 255]) }],
  ["bytes_value=-_8", { bytesValue: new Uint8Array([251, 255]) }],
  ["kind=KIND_AUDIO", { kind: 2 }],
  ["kind=1&kinds=KIND_PAPER&kinds=2", { kind: 1, kinds: [1, 2] }],
  [
    "labels[env]=prod&labels%5Ba.b%5D=c&labels[__proto__]=d",
    { labels: { env: "prod", "a.b": "c", ["__proto__"]: "d" } },
  ],
  ["child.labels[k]=v", { child: { labels: { k: "v" } } }],
  ["kinds_by_number[-1]=KIND_PAPER&doubles_by_long[5]=1.5", { kindsByNumber: { "-1": 1 }, doublesByLong: { 5: 1.5 } }],
  ["create_time=1970-01-01T00:00:01Z&ttl=1.5s", { createTime: { seconds: 1n }, ttl: { seconds: 1n, nanos: 5e8 } }],
  ["ttls_by_name[a]=1s", { ttlsByName: { a: { seconds: 1n } } }],
  ["times=1970-01-01T00:00:01Z&times=1970-01-01T00:00:02Z", { times: [{ seconds: 1n }, { seconds: 2n }] }],
  ["mask=claimMatch.subject,create_time", { mask: { paths: ["claim_match.subject", "create_time"] } }],
  ["mask=*", { mask: { paths: ["*"] } }],
  ["mask=a,", { mask: { paths: ["a", ""] } }],
  ["mask=", {}],
  ["int64_wrapper=5&string_wrapper=&double_wrapper=0.5", { int64Wrapper: 5n, stringWrapper: "", doubleWrapper: 0.5 }],
  ["string_wrappers=a", { stringWrappers: [{ value: "a" }] }],
  ["choice_long=5", { choice: { case: "choiceLong", value: 5n } }],
  ["choiceWrapper=x", { choice: { case: "choiceWrapper", value: { value: "x" } } }],
  [
    "choice_match.subject=s&choice_match.issuer=i",
    { choice: { case: "choiceMatch", value: { subject: "s", issuer: "i" } } },
  ],
])("reads %s", (query, init) => {
  const { message, violations } = read(everything, query);
  expect(violations).toEqual([]);
  expect(toBinary(everything.method.input, message)).toEqual(
    toBinary(everything.method.input, create("Everything", init)),
  );
});

describe("refuses", () => {
  test.each([
    ["nope=1", "nope: unknown parameter"],
    ["=1", ": unknown parameter"],
    ["String_value=1", "String_value: unknown parameter"],
    ["claim_match.nope=1", "claim_match.nope: unknown parameter"],
    ["claim_match..subject=1", "claim_match..subject: unknown parameter"],
    ["string_value.x=1", "string_value.x: unknown parameter"],
    ["create_time.seconds=1", "create_time.seconds: unknown parameter"],
    ["strings[0]=a", "strings[0]: unknown parameter"],
    ["labels=a", "labels: unknown parameter"],
    ["labels.env=a", "labels.env: unknown parameter"],
    ["labels[env]x=a", "labels[env]x: unknown parameter"],
    ["matches.subject=a", "matches.subject: unknown parameter"],
    ["__proto__=1", "__proto__: unknown parameter"],
    ["__proto__.x=1", "__proto__.x: unknown parameter"],
    [`${"child.".repeat(100)}string_value=x`, `${"child.".repeat(100).slice(0, 64)}…: unknown parameter`],
    ["claim_match=x", "claim_match: cannot be given as a parameter"],
    ["matches=x", "matches[0]: cannot be given as a parameter"],
    ["struct=x", "struct: cannot be given as a parameter"],
    ["any=x", "any: cannot be given as a parameter"],
    ["matches_by_flag[true]=x", 'matches_by_flag["true"]: cannot be given as a parameter'],
    ["string_value=a&string_value=a", "string_value: given twice"],
    ["string_value=a&stringValue=b", "string_value: given twice"],
    ["labels[a]=1&labels[a]=2", 'labels["a"]: given twice'],
    ["choice_string=a&choice_long=1", "choice_long: cannot be given with choice_string"],
    ["choice_string=a&choice_match.subject=1", "choice_match.subject: cannot be given with choice_string"],
    ["child.choice_string=a&child.choice_long=1", "child.choice_long: cannot be given with child.choice_string"],
    ["int32_value=", "int32_value: must be an integer from -2147483648 to 2147483647"],
    ["int32_value=0x10", "int32_value: must be an integer from -2147483648 to 2147483647"],
    ["int32_value=1e2", "int32_value: must be an integer from -2147483648 to 2147483647"],
    ["int32_value=1.0", "int32_value: must be an integer from -2147483648 to 2147483647"],
    ["int32_value=+1", "int32_value: must be an integer from -2147483648 to 2147483647"],
    ["int32_value=%201", "int32_value: must be an integer from -2147483648 to 2147483647"],
    ["int32_value=2147483648", "int32_value: must be an integer from -2147483648 to 2147483647"],
    ["int32_wrapper=1e2", "int32_wrapper: must be an integer from -2147483648 to 2147483647"],
    ["bool_value=TRUE", "bool_value: must be true or false"],
    ["bool_value=", "bool_value: must be true or false"],
    ["double_value=abc", "double_value: must be a number"],
    ["bytes_value=*", "bytes_value: must be base64"],
    ["kind=KIND_NOPE", "kind: must be one of KIND_UNSPECIFIED, KIND_PAPER, KIND_AUDIO"],
    ["kind=01", "kind: must be one of KIND_UNSPECIFIED, KIND_PAPER, KIND_AUDIO"],
    ["kind=77", "kind: must be one of KIND_UNSPECIFIED, KIND_PAPER, KIND_AUDIO"],
    ["kinds=KIND_PAPER&kinds=77", "kinds[1]: must be one of KIND_UNSPECIFIED, KIND_PAPER, KIND_AUDIO"],
    ["create_time=yesterday", "create_time: must be an RFC 3339 timestamp"],
    [`mask=${"a,".repeat(1000)}a`, "mask: must be at most 1000 comma-separated field paths"],
    ["kinds_by_number[x]=1", 'kinds_by_number["x"]: invalid key'],
    ["string_value=%", "string_value: malformed escape or text in the query"],
    ["string_value=%zz", "string_value: malformed escape or text in the query"],
    ["string_value=%ff", "string_value: malformed escape or text in the query"],
    ["string_value=%00", "string_value: malformed escape or text in the query"],
    ["string_value=%ed%a0%80", "string_value: malformed escape or text in the query"],
    ["%zz=1", "%zz: malformed escape or text in the query"],
  ])("%s", (query, violation) => {
    expect(read(everything, query).violations).toEqual([violation]);
  });

  test("everything at once", () => {
    expect(read(everything, "nope=1&kind=x&bool_value=x").violations).toHaveLength(3);
  });
});

test.each<[string, string, string, string[]]>([
  ["GetRepo", "GET", "uid=x", ["uid: is already given by the path"]],
  ["UpdateRepo", "PATCH", "repo.uid=x", ["repo.uid: is already given by the path"]],
  ["UpdateRepo", "PATCH", "repo.name=x", ["repo.name: is already given by the body"]],
  ["UpdateRepo", "PATCH", "repo=x", ["repo: is already given by the body"]],
  ["UpdateRepo", "PATCH", "updateMask=name", []],
  ["CreateRepo", "POST", "validate_only=1", []],
  ["MoveRepo", "POST", "force=true", ["force: unknown parameter"]],
  ["MoveRepo", "POST", "uid=x", ["uid: is already given by the path"]],
])("%s by %s with %s", (method, httpMethod, query, violations) => {
  expect(read(bindingOf(method, httpMethod), query).violations).toEqual(violations);
});

test.each<[object, string, string[]]>([
  [get("/v1/{choice_string}"), "choice_long=1", ["choice_long: cannot be given with choice_string"]],
  [get("/v1/{choice_string}"), "choice_match.issuer=a", ["choice_match.issuer: cannot be given with choice_string"]],
  [
    get("/v1/{child.choice_string}"),
    "child.choice_long=1",
    ["child.choice_long: cannot be given with child.choice_string"],
  ],
  [get("/v1/{child.choice_string}"), "choice_long=1", []],
  [get("/v1/{choice_match.issuer}"), "choice_match.subject=a", []],
  [get("/v1/{stringValue}"), "string_value=a", ["string_value: is already given by the path"]],
  [post("/v1", { body: "choice_match" }), "choice_long=1", ["choice_long: cannot be given with choice_match"]],
])("%j with %s", (rule, query, violations) => {
  const [binding] = readBindings([libraryWith("Echo", rule)]);
  // A reader keeps nothing of the request before.
  for (const _ of [1, 2]) expect(read(binding!, query).violations).toEqual(violations);
});

describe("a json_name", () => {
  /** The fixture with other names in JSON. */
  function echoWith(names: Readonly<Record<string, string>>): Binding {
    const proto = clone(FileDescriptorProtoSchema, fileProto);
    for (const field of proto.messageType.find(({ name }) => name === "Everything")!.field)
      field.jsonName = names[field.name] ?? field.jsonName;
    const bound = readBindings([compile(proto).getService("library.v1.Library")!]);
    return bound.find(({ method, httpMethod }) => method.name === "Echo" && httpMethod === "GET")!;
  }
  const readNamed = (names: Readonly<Record<string, string>>, query: string) => {
    const violations = new Violations();
    const binding = echoWith(names);
    const message = createMessage(binding.method.input) as Any;
    createQueryReader(binding, false)(query, message, violations);
    return { message, violations: violations.list };
  };

  test.each<[string, string, object]>([
    ["page[size]", "page[size]=7", { int32Value: 7 }],
    ["page[size]", "page%5Bsize%5D=7", { int32Value: 7 }],
    ["labels[a]", "labels[a]=7&labels[b]=x", { int32Value: 7, labels: { b: "x" } }],
    ["labels[", "labels[=7&labels[a]=x", { int32Value: 7, labels: { a: "x" } }],
    ["page.size", "page.size=7&child.page.size=8", { int32Value: 7, child: { int32Value: 8 } }],
    ["claim_match.subject", "claim_match.subject=7", { int32Value: 7 }],
    ["]", "]=7", { int32Value: 7 }],
  ])("%s is read from %s", (jsonName, query, expected) => {
    const { message, violations } = readNamed({ int32_value: jsonName }, query);
    expect(violations).toEqual([]);
    expect(message).toMatchObject(expected);
  });

  test("with brackets may be that of a message and of a map", () => {
    const names = { child: "the[child]", labels: "the[labels]" };
    const { message, violations } = readNamed(names, "the[child].string_value=a&the[labels][k]=v");
    expect(violations).toEqual([]);
    expect(message).toMatchObject({ child: { stringValue: "a" }, labels: { k: "v" } });
  });

  test("does not take the name of another field", () => {
    const names = { int32_value: "uint32_value", uint32_value: "other" };
    expect(readNamed(names, "uint32_value=7&int32_value=8").message).toMatchObject({ uint32Value: 7, int32Value: 8 });
  });
});

test("unknown parameters are ignored on demand, others are not", () => {
  expect(read(everything, "nope=1&string_value=a", true)).toMatchObject({
    message: { stringValue: "a" },
    violations: [],
  });
  expect(read(everything, "kind=nope", true).violations).toHaveLength(1);
});
