/** JSONPath as kubectl has it: its documented examples, and what it refuses. */
import { describe, expect, test } from "vitest";
import { parsePath, parseTemplate } from "../../../src/remote/print/json-path.ts";

/** The input of kubectl's documentation of JSONPath. */
const list = {
  kind: "List",
  items: [
    {
      kind: "None",
      metadata: { name: "127.0.0.1", labels: { "kubernetes.io/hostname": "127.0.0.1" } },
      status: { capacity: { cpu: "4" }, addresses: [{ type: "LegacyHostIP", address: "127.0.0.1" }] },
    },
    {
      kind: "None",
      metadata: { name: "127.0.0.2" },
      status: {
        capacity: { cpu: "8" },
        addresses: [
          { type: "LegacyHostIP", address: "127.0.0.2" },
          { type: "another", address: "127.0.0.3" },
        ],
      },
    },
  ],
  users: [
    { name: "myself", user: {} },
    { name: "e2e", user: { username: "admin", password: "secret" } },
  ],
};

describe("a template", () => {
  test.each([
    ["{.kind}", "List"],
    ["the object is {@.kind}", "the object is List"],
    ["{['kind']}", "List"],
    ["{$.kind}", "List"],
    ["{..name}", "127.0.0.1 127.0.0.2 myself e2e"],
    ["{.items[*].metadata.name}", "127.0.0.1 127.0.0.2"],
    ["{.users[0].name}", "myself"],
    ["{.users[-1].name}", "e2e"],
    ["{.users[-2:].name}", "myself e2e"],
    ["{.users[0:2:2].name}", "myself"],
    ["{.users[0,1].name}", "myself e2e"],
    ["{.items[*]['metadata.name', 'status.capacity']}", '127.0.0.1 127.0.0.2 {"cpu":"4"} {"cpu":"8"}'],
    ["{.items[0].metadata.labels['kubernetes\\.io/hostname']}", "127.0.0.1"],
    ["{.items[*]['kind','status'].capacity.cpu}", "4 8"],
    ['{.users[?(@.name=="e2e")].user.password}', "secret"],
    ["{.users[?(@.user.username)].name}", "e2e"],
    ["{.items[?(@.status.capacity.cpu>4)].metadata.name}", "127.0.0.2"],
    ["{.items[?(@.status.capacity.cpu!='4')].metadata.name}", "127.0.0.2"],
    ["{.items[*].metadata.labels.kubernetes\\.io/hostname}", "127.0.0.1"],
    ['{range .items[*]}[{.metadata.name}, {.status.capacity.cpu}]{"\\n"}{end}', "[127.0.0.1, 4]\n[127.0.0.2, 8]\n"],
    ["{range .items[*]}{range .status.addresses[*]}{.address};{end}{'\\t'}{end}", "127.0.0.1;\t127.0.0.2;127.0.0.3;\t"],
    ["{.users[1].user}", '{"username":"admin","password":"secret"}'],
    ["{.nothing.below}", ""],
    ["{.items[9]}", ""],
    ["{ .kind }", "List"],
    ["{.*..username}", "admin"],
  ])("%s", (template, expected) => {
    expect(parseTemplate(template)(list)).toBe(expected);
  });

  test("is its value alone", () => {
    expect(parseTemplate("{.}")(["a", 1, true])).toBe('["a",1,true]');
    expect(parseTemplate("{@}|{[-1]}|{[-2:]}")([1, 2])).toBe("[1,2]|2|1 2");
  });

  test("prints what a terminal could act on as escapes", () => {
    expect(parseTemplate("{.a}\n")({ a: "x\u001b[31m\ny" })).toBe("x\\u001b[31m\\ny\n");
  });

  test.each([
    ["{.a", "} is expected at the end"],
    ["{range .a[*]}{.b}", "{end} is expected at the end"],
    ["{.a}{end}", "a range before {end} is expected"],
    ["{.a[}", 'a name in quotes or ?(…) is expected before "}"'],
    ["{.a[0}", '] is expected before "}"'],
    ["{.a[::0]}", "a step of 1 or more is expected"],
    ["{.a[?(@.b ~ 1)]}", ") is expected"],
    ["{}", "a path, such as .name is expected"],
    ["{.a.}{.b..}", "the name of a field"],
  ])("%s is refused", (template, message) => {
    expect(() => parseTemplate(template)).toThrow(message);
  });
});

test.each(["name", ".name", "{.name}", "$.name", " {.name} "])("%j is the same path", (source) => {
  expect(parsePath(source)({ name: "a" }, { name: "a" })).toEqual(["a"]);
});

test("a path has nothing after it", () => {
  expect(() => parsePath(".a b")).toThrow('a field or [ is expected before " b"');
});
