/**
 * What is generated: messages in which no field is set, as the library makes them, and code in which names stay names.
 */
import { isDeepStrictEqual } from "node:util";
import { create, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  compileFunction,
  literal,
  useGeneratedCode,
  zeroMessage,
} from "../../../src/codec/compile/compile-function.ts";
import {
  createBinaryReader,
  createBinaryWriter,
  createJsonReader,
  createJsonWriter,
  type Local,
  parseJson,
  Violations,
} from "../../../src/codec/index.ts";
import { compile, fileProto, registry } from "../../rest/fixture.ts";
import { contractTypes, ruleTypes } from "../message-types.ts";

describe.each([
  ["the rules of proto2, proto3 and editions", ruleTypes],
  ["the contract", contractTypes],
])("zero messages of %s", (_, types) => {
  test("are the library's, in the order of their properties and in their prototype too", () => {
    expect(types.length).toBeGreaterThan(10);
    for (const type of types) {
      const expected = create(type) as unknown as Local;
      // The first one may be made in another way than those after it.
      for (const message of [zeroMessage(type)(), zeroMessage(type)(), zeroMessage(type)()]) {
        expect(isDeepStrictEqual(message, expected), type.typeName).toBe(true);
        expect(Object.entries(Object.getOwnPropertyDescriptors(message))).toEqual(
          Object.entries(Object.getOwnPropertyDescriptors(expected)),
        );
        expect(Object.getPrototypeOf(message)).toBe(Object.getPrototypeOf(expected));
      }
    }
  });

  test("share nothing that can be changed", () => {
    for (const type of types) {
      const [one, other] = [zeroMessage(type)(), zeroMessage(type)()];
      for (const [name, value] of Object.entries(one)) {
        // Empty bytes are shared by the library, too.
        if (typeof value === "object" && !(value instanceof Uint8Array)) expect(other[name]).not.toBe(value);
      }
    }
  });
});

const hostileName = '"] = 1; throw new Error(`0`); //\\\u2028\n';

test("whatever a name holds, it is not code", () => {
  const file = structuredClone(fileProto);
  const proto = file.messageType.find(({ name }) => name === "ClaimMatch")!;
  proto.field[0]!.jsonName = hostileName;
  const type = compile(file).getMessage("library.v1.ClaimMatch") as DescMessage;
  const message = create(type, { issuer: "i" } as never);
  const text = createJsonWriter(type, { registry })(message);
  expect(JSON.parse(text)).toEqual({ [hostileName]: "i", subject: "" });
  const violations = new Violations();
  expect(createJsonReader(type, { registry })(parseJson(text), violations)).toEqual(message);
  expect(violations.list).toEqual([]);
  const bytes = toBinary(type, message);
  expect(Uint8Array.from(createBinaryWriter(type)(message))).toEqual(bytes);
  expect(createBinaryReader(type)(bytes)).toEqual(message);
});

function notCompiled(): never {
  throw new Error("code is not generated");
}

test("a literal is the string, whatever it holds", () => {
  for (const text of ["", hostileName, "\ud800", "'", "`", "</script>"]) {
    const compiled = compileFunction<() => string>("", () => `return ${literal(text)};`, notCompiled);
    expect(compiled()).toBe(text);
  }
});

test("a value is bound once, and is the value itself", () => {
  const value = {};
  const pair = compileFunction<() => unknown[]>(
    "",
    (bind) => `return [${bind(value)}, ${bind(1)}, ${bind(value)}];`,
    notCompiled,
  )();
  expect(pair[0]).toBe(value);
  expect(pair).toEqual([value, 1, value]);
});

test("a process that may generate code only while it starts goes on without", () => {
  onTestFinished(() => {
    vi.unstubAllGlobals();
    useGeneratedCode(true);
  });
  const which = () =>
    compileFunction<() => string>(
      "",
      () => 'return "generated";',
      () => () => "plain",
    )();
  expect(which()).toBe("generated");
  const refuse = vi.fn(function refuse() {
    throw new EvalError("Code generation from strings disallowed for this context");
  });
  vi.stubGlobal("Function", refuse);
  expect([which(), which()]).toEqual(["plain", "plain"]);
  expect(refuse).toHaveBeenCalledTimes(1);
});
