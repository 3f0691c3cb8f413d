/** Holds answers against the OpenAPI document. */
import { readFileSync } from "node:fs";
import type { DescMethod } from "@bufbuild/protobuf";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";

interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly responses: Record<string, { readonly content?: unknown }>;
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
}

const documents = new Map(
  ["v1", "v2"].map((version): [string, Document] => [
    version,
    JSON.parse(readFileSync(new URL(`../../gen/openapi/platform-${version}.json`, import.meta.url), "utf8")),
  ]),
);

const ajv = new Ajv2020({ strict: false, logger: false });
addFormats.default(ajv);
for (const [version, document] of documents) ajv.addSchema(forResponses(document) as object, version);

/** The document without the requirements that OpenAPI makes of requests alone: fields that are only written. */
function forResponses(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forResponses);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, forResponses(inner)]));
  const { required, properties } = copy as {
    required?: string[];
    properties?: Record<string, { writeOnly?: boolean }>;
  };
  if (!Array.isArray(required) || properties === undefined) return copy;
  return { ...copy, required: required.filter((name) => properties[name]?.writeOnly !== true) };
}

/** Where the operation of the first binding of each method is, by full name of the method. */
const places = new Map<string, { readonly version: string; readonly pointer: string; readonly operation: Operation }>();
for (const [version, document] of documents) {
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [verb, operation] of Object.entries(item)) {
      const name = /RPC: `(.*)`\.$/.exec(operation.description)?.[1];
      const pointer = `/paths/${path.replaceAll("~", "~0").replaceAll("/", "~1")}/${verb}`;
      const isFirst = name !== undefined && operation.operationId.endsWith(name.split("/")[1]!);
      if (isFirst) places.set(name, { version, pointer, operation });
    }
  }
}

const validators = new Map<string, ValidateFunction>();

/** Expects the JSON answer of a method to be as the document says. */
export function expectDocumented({ parent, name }: DescMethod, status: number, answer: unknown): void {
  const place = places.get(`${parent.typeName}/${name}`);
  if (place === undefined) throw new Error(`the OpenAPI document has no operation for ${parent.typeName}/${name}`);
  if (status === 200 && place.operation.responses["200"]?.content === undefined) {
    expect(answer).toEqual({});
    return;
  }
  const pointer =
    status === 200 ? `${place.pointer}/responses/200/content/application~1json/schema` : "/components/schemas/Status";
  const { version } = place;
  let validate = validators.get(version + pointer);
  if (validate === undefined) {
    validate = ajv.compile({ $ref: `${version}#${encodeURI(pointer)}` });
    validators.set(version + pointer, validate);
  }
  const isValid = validate(answer);
  expect(isValid, `${name}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(answer)}`).toBe(true);
}
