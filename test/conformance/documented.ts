/**
 * Holds answers against the OpenAPI documents as they are published, with two validators that share no code. What
 * answers have and the documents do not is found too.
 */
import { readFileSync } from "node:fs";
import { registerSchema, setShouldValidateFormat, validate } from "@hyperjump/json-schema/openapi-3-1";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";

interface Response {
  readonly $ref?: string;
  readonly content?: Record<string, unknown>;
}

interface Parameter {
  readonly name?: string;
  readonly required?: boolean;
  readonly schema?: { readonly type?: string; readonly pattern?: string };
}

interface Operation {
  readonly parameters: readonly Parameter[];
  readonly responses: Record<string, Response>;
}

/** An operation, and where it is in its document. */
export interface DocumentedOperation extends Operation {
  readonly version: string;
  /** `/paths/~1iam~1v2~1groups/get`. */
  readonly pointer: string;
  readonly path: string;
  readonly verb: string;
}

/** Says what is wrong with a value; undefined: nothing. */
type Check = (value: unknown) => string | undefined;

const ajv = new Ajv2020({ strict: false, logger: false, allErrors: true });
addFormats.default(ajv);
setShouldValidateFormat(true);

/** Every operation of the documents. */
export const documentedOperations: readonly DocumentedOperation[] = ["v1", "v2"].flatMap((version) => {
  const text = readFileSync(new URL(`../../gen/openapi/platform-${version}.json`, import.meta.url), "utf8");
  const document = JSON.parse(text) as { paths: Record<string, Record<string, Operation>> };
  ajv.addSchema(document, version);
  ajv.addSchema(closed(document) as object, `${version}-closed`);
  registerSchema(JSON.parse(text), uriOf(version), "https://spec.openapis.org/oas/3.1/dialect/base");
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([verb, operation]) => {
      const pointer = `/paths/${path.replaceAll("~", "~0").replaceAll("/", "~1")}/${verb}`;
      return { ...operation, version, pointer, path, verb: verb.toUpperCase() };
    }),
  );
});

/** The longest literal text is the path that is meant: `/repos/{uid}/readme` before `/repos/{uid}`. */
const templates = documentedOperations
  .map((operation) => ({
    operation,
    literals: operation.path.replace(/\{[^}]*\}/g, "").length,
    pattern: new RegExp(`^${operation.path.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{[^}]*\}/g, ".*")}$`),
  }))
  .sort((a, b) => b.literals - a.literals);

/** The operation that a request is of, by the documents. */
export function operationOf(verb: string, path: string): DocumentedOperation | undefined {
  return templates.find(({ operation, pattern }) => operation.verb === verb && pattern.test(path))?.operation;
}

/** As `fetch`; the answer of an operation is expected to be what the document says. */
export async function fetchDocumented(url: string, init: RequestInit = {}): Promise<globalThis.Response> {
  const answer = await fetch(url, init);
  const { pathname } = new URL(url);
  const operation = operationOf(init.method ?? "GET", pathname);
  if (operation !== undefined) await expectDocumented(operation, answer);
  return answer;
}

/** Expects an answer to be what the document says of the operation. */
export async function expectDocumented(operation: DocumentedOperation, answer: globalThis.Response): Promise<void> {
  const { version, responses } = operation;
  const { status } = answer;
  const text = await answer
    .clone()
    .text()
    .catch(() => undefined);
  if (text === undefined) return; // it breaks off, which who reads it sees too
  const place = `${operation.verb} ${operation.path} ${status}`;
  const key = String(status) in responses ? String(status) : "default";
  const response = responses[key]!;
  const pointer = response.$ref?.slice(1) ?? `${operation.pointer}/responses/${key}`;
  if (response.$ref === undefined && response.content === undefined) {
    expect(text, `${place} has no content`).toBe("");
    return;
  }
  if (response.content?.["*/*"] !== undefined) return; // a file of any type
  expect(answer.headers.get("content-type"), place).toBe("application/json");
  const value: unknown = JSON.parse(text);
  for (const [validator, check] of await checksOf(version, `${pointer}/content/application~1json/schema`))
    expect(check(value), `${place}, by ${validator}: ${text.slice(0, 4000)}`).toBeUndefined();
}

const checks = new Map<string, Promise<readonly (readonly [string, Check])[]>>();

/** The checks of a schema. */
function checksOf(version: string, pointer: string) {
  const known = checks.get(version + pointer) ?? makeChecks(version, encodeURI(pointer));
  checks.set(version + pointer, known);
  return known;
}

async function makeChecks(version: string, fragment: string) {
  const byHyperjump = await validate(`${uriOf(version)}#${fragment}`);
  return [
    ["Ajv", ajvCheck(`${version}#${fragment}`)],
    ["Ajv, as all there is", ajvCheck(`${version}-closed#${fragment}`)],
    [
      "Hyperjump",
      eachShapeOnce((value) => hyperjumpText(byHyperjump(value as Parameters<typeof byHyperjump>[0], "BASIC"))),
    ],
  ] as const;
}

/**
 * A check of one value of each shape, for what is slow: another value of the same types and members is read by the same
 * schemas. Ajv checks all values.
 */
function eachShapeOnce(check: Check): Check {
  const known = new Set<string>();
  return (value) => {
    const shape = JSON.stringify(shapeOf(value));
    if (known.has(shape)) return undefined;
    const wrong = check(value);
    if (wrong === undefined) known.add(shape);
    return wrong;
  };
}

/** The types in a value, by member; those of a list's items each once. `@type` says which schema a detail has. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((item) => JSON.stringify(shapeOf(item))))].sort();
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, name === "@type" ? of : shapeOf(of)]));
}

function ajvCheck($ref: string): Check {
  const isValid = ajv.compile({ $ref });
  return (value) => (isValid(value) ? undefined : ajv.errorsText(isValid.errors));
}

function hyperjumpText({
  valid,
  errors,
}: {
  valid: boolean;
  errors?: { instanceLocation: string; keyword: string }[];
}) {
  if (valid) return undefined;
  return errors?.map(({ instanceLocation, keyword }) => `${instanceLocation} ${keyword.split("/").at(-1)}`).join(", ");
}

function uriOf(version: string): string {
  return `https://platform.example/openapi/${version}.json`;
}

/** The document with objects that have no other properties than those that it names, but for details of other types. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closed(inner)]));
  const isOpen = copy.type !== "object" || copy.properties === undefined || copy.title === "OtherDetail";
  return isOpen ? copy : { additionalProperties: false, ...copy };
}
