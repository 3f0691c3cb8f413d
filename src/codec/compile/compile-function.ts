/**
 * Functions compiled for one message type, from source text.
 *
 * A closure that reads `message[name]` shares its inline caches with every other closure of the same literal: after a
 * few types, each access is a lookup by name. In a function with source of its own, the engine knows the place of the
 * property, which makes a message several times cheaper. Only the loop over the fields is generated. The rules of the
 * formats are ordinary functions, which the generated code receives.
 *
 * The text contains only names and numbers of descriptors, which are part of the program. Every name is inserted as a
 * JSON string literal. No byte of a request ever becomes code.
 *
 * Each compiled function has a plain equivalent, with the same results and errors, for processes that must not generate
 * code: `node --disallow-code-generation-from-strings`, Workers of Cloudflare once they have started, or
 * {@link useGeneratedCode}.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { Edition } from "@bufbuild/protobuf/wkt";
import { hasPresence, type Local, type LocalMessage, newMessage } from "../message-fields.ts";

/** Returns the name of a value in the generated code. */
export type Bind = (value: unknown) => string;

let generatesCode = true;

/** Switches generated code on, where the process allows it, or off. Message types compiled before stay as they are. */
export function useGeneratedCode(on: boolean): void {
  generatesCode = on;
}

/**
 * Compiles a function with these parameters, whose body is the text that `emit` returns.
 * Without generated code, it is the equivalent function that `plain` returns.
 */
export function compileFunction<F>(parameters: string, emit: (bind: Bind) => string, plain: () => F): F {
  if (!generatesCode) return plain();
  const values: unknown[] = [];
  const body = emit((value) => {
    const index = values.indexOf(value);
    return `$${index < 0 ? values.push(value) - 1 : index}`;
  });
  const names = values.map((_, index) => `$${index}`);
  const make = makerOf(names, `"use strict";\nreturn (${parameters}) => {\n${body}\n};`);
  return make === undefined ? plain() : make(...values);
}

/** The function with this body; undefined where the process must not generate code, or, as a Worker, no longer. */
function makerOf(parameters: readonly string[], body: string): ((...values: readonly unknown[]) => never) | undefined {
  try {
    return new Function(...parameters, body) as (...values: readonly unknown[]) => never;
  } catch (error) {
    if (!(error instanceof EvalError)) throw error;
    generatesCode = false;
    return undefined;
  }
}

/** The literal of a string. */
export function literal(text: string): string {
  return JSON.stringify(text);
}

/** The expression for a field of a `message`; for a member of a oneof, the value of whatever member is set. */
export function placeOf(field: DescField): string {
  return field.oneof === undefined
    ? `message[${literal(field.localName)}]`
    : `message[${literal(field.oneof.localName)}].value`;
}

/** The condition under which a field of a `message` is set; undefined for a field without presence. */
export function presenceOf(field: DescField): string | undefined {
  if (field.oneof !== undefined)
    return `message[${literal(field.oneof.localName)}].case === ${literal(field.localName)}`;
  if (!hasPresence(field)) return undefined;
  const isPresent = `${placeOf(field)} !== undefined`;
  // Outside proto3 the prototype holds the defaults of unset fields.
  return field.parent.file.edition === Edition.EDITION_PROTO3
    ? isPresent
    : `Object.hasOwn(message, ${literal(field.localName)}) && ${isPresent}`;
}

/** Caches by message type, so that a recursive type finds itself. */
export function perMessage<T>(make: (desc: DescMessage) => T): (desc: DescMessage) => T {
  const made = new WeakMap<DescMessage, T>();
  return (desc) => {
    let type = made.get(desc);
    if (type === undefined) {
      type = make(desc);
      made.set(desc, type);
    }
    return type;
  };
}

/** Returns a function that makes messages in which no field is set, equal to those of the library's `create`. */
export const zeroMessage = perMessage((desc: DescMessage): (() => LocalMessage) => {
  let make = () => {
    const model = newMessage(desc);
    make = compileFunction(
      "",
      (bind) => `return ${zeroLiteral(model, bind)};`,
      () => () => newMessage(desc),
    );
    return model;
  };
  return () => make();
});

/** The literal of a message in which no field is set. */
export function zeroLiteral(model: Local, bind: Bind): string {
  const properties = Object.keys(model).map((name) => `${literal(name)}: ${zeroValue(model[name], bind)}`);
  const prototype: unknown = Object.getPrototypeOf(model);
  if (prototype !== Object.prototype) properties.unshift(`__proto__: ${bind(prototype)}`);
  return `{ ${properties.join(", ")} }`;
}

/** As in the library, each message has its own lists, maps and oneofs; other values are shared. */
function zeroValue(value: unknown, bind: Bind): string {
  switch (typeof value) {
    case "bigint":
      return `${value}n`;
    case "object":
      if (Array.isArray(value)) return "[]";
      return value instanceof Uint8Array ? bind(value) : "case" in (value as object) ? "{ case: undefined }" : "{}";
    default:
      return JSON.stringify(value);
  }
}
