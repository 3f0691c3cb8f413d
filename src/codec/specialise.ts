/**
 * Functions made for one message type, from source text.
 *
 * A closure that reads `message[name]` shares its inline caches with every other closure of the same literal: after a
 * few types each access is a search by name. In a function with source of its own the engine knows where the property
 * is, which makes a message several times cheaper. Only the walk over the fields is generated; the rules of the formats
 * are ordinary functions, which the generated code is handed.
 *
 * This is safe because the text holds nothing but names and numbers of descriptors, which are part of the program, and
 * every name is put there as a JSON string literal. No byte of a request ever becomes code.
 */
import { create, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { Edition, FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import type { Local } from "./local.ts";

/** Gives the name that a value has in the generated code. */
export type Bind = (value: unknown) => string;

/** Makes a function of such parameters, whose body is the text that `emit` gives. */
export function specialise<F>(parameters: string, emit: (bind: Bind) => string): F {
  const values: unknown[] = [];
  const body = emit((value) => {
    const index = values.indexOf(value);
    return `$${index < 0 ? values.push(value) - 1 : index}`;
  });
  const names = values.map((_, index) => `$${index}`);
  return new Function(...names, `"use strict";\nreturn (${parameters}) => {\n${body}\n};`)(...values);
}

/** The literal of a string. */
export function literal(text: string): string {
  return JSON.stringify(text);
}

/** The place where a `message` holds a field: the value of a oneof member, whatever member is set. */
export function placeOf(field: DescField): string {
  return field.oneof === undefined
    ? `message[${literal(field.localName)}]`
    : `message[${literal(field.oneof.localName)}].value`;
}

/** The condition under which a field of a `message` is set; undefined for a field without presence. */
export function presenceOf(field: DescField): string | undefined {
  if (field.oneof !== undefined) {
    return `message[${literal(field.oneof.localName)}].case === ${literal(field.localName)}`;
  }
  if (field.presence === FeatureSet_FieldPresence.IMPLICIT || field.fieldKind === "list" || field.fieldKind === "map") {
    return undefined;
  }
  const isPresent = `${placeOf(field)} !== undefined`;
  // Outside proto3 the prototype holds the defaults of unset fields.
  return field.parent.file.edition === Edition.EDITION_PROTO3
    ? isPresent
    : `Object.hasOwn(message, ${literal(field.localName)}) && ${isPresent}`;
}

/** One object for all that is compiled of a message type, so that a recursive type finds itself. */
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

/** Gives what makes messages of a type in which no field is set, the same that the library's `create` makes. */
export const zeroMessage = perMessage((desc: DescMessage): (() => Local) => {
  let make = () => {
    const model = create(desc) as unknown as Local;
    make = specialise("", (bind) => `return ${zeroLiteral(model, bind)};`);
    return model;
  };
  return () => make();
});

/** The literal of a message in which no field is set. */
export function zeroLiteral(model: Local, bind: Bind): string {
  const properties = Object.keys(model).map((name) => `${literal(name)}: ${zeroValue(model[name], bind)}`);
  const prototype: unknown = Object.getPrototypeOf(model);
  if (prototype !== Object.prototype) {
    properties.unshift(`__proto__: ${bind(prototype)}`);
  }
  return `{ ${properties.join(", ")} }`;
}

/** The library makes lists, maps and oneofs anew for each message, and nothing else. */
function zeroValue(value: unknown, bind: Bind): string {
  switch (typeof value) {
    case "bigint":
      return `${value}n`;
    case "object":
      if (Array.isArray(value)) {
        return "[]";
      }
      return value instanceof Uint8Array ? bind(value) : "case" in (value as object) ? "{ case: undefined }" : "{}";
    default:
      return JSON.stringify(value);
  }
}
