/**
 * A REST client that knows nothing but `google.api.http` and `fetch`. It checks what must hold of every REST answer.
 */
import { type DescMethodUnary, getOption } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { camelCase, type Json, snakeCase } from "./contract.ts";
import { fetchDocumented, operationOf } from "./documented.ts";
import { httpStatusOf, type Outcome } from "./outcome.ts";

/** The address, verb and body of a call. */
export interface RestRequest {
  readonly verb: string;
  /** Path and query. */
  readonly target: string;
  readonly body: string | undefined;
}

/** Writes a request as its method's HTTP rule says. */
export function restRequest(method: DescMethodUnary, request: Json): RestRequest {
  const rule = getOption(method, http);
  const left = structuredClone(request);
  const { case: kind, value: template } = rule.pattern;
  if (kind === undefined || kind === "custom") throw new Error(`${method.name} has no plain HTTP rule`);
  const path = template.replace(/\{([^}=]+)(=\*\*)?[^}]*\}/g, (_, name: string, isDeep: string | undefined) => {
    const value = encodeURIComponent(take(left, camelCase(name).split(".")) ?? "");
    return isDeep ? value.replaceAll("%2F", "/") : value;
  });
  let body: string | undefined;
  if (rule.body === "*") body = JSON.stringify(left);
  else if (rule.body !== "") {
    const content = take(left, [camelCase(rule.body)]);
    body = content === undefined ? undefined : JSON.stringify(content);
  }
  const query = rule.body === "*" ? "" : new URLSearchParams(parameters(left, "")).toString();
  return { verb: kind.toUpperCase(), target: query === "" ? path : `${path}?${query}`, body };
}

/** Makes the call. */
export async function callOverRest(
  baseUrl: string,
  method: DescMethodUnary,
  request: Json,
  headers: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const { verb, target, body } = restRequest(method, request);
  expect(operationOf(verb, target.split("?")[0]!), `${verb} ${target} is documented`).toBeDefined();
  const response = await fetchDocumented(`${baseUrl}${target}`, {
    method: verb,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body }),
  });
  return readRest(response, method.output.typeName === "google.protobuf.Empty");
}

/** Reads an answer of the API, whatever it is. */
export async function readRest(response: Response, isEmpty = false): Promise<Outcome> {
  const text = await response.text();
  const header = (name: string) => response.headers.get(name);
  expect(header("x-request-id"), "every answer says which request it is for").toMatch(/^.+$/);
  expect(header("cache-control")).toBe("no-store");
  expect([header("deprecation"), header("sunset")]).toEqual([null, null]);
  if (response.status === 200 && isEmpty) {
    expect(text).toBe("");
    return { ok: true, message: {}, header };
  }
  expect(header("content-type")).toBe("application/json");
  const json = JSON.parse(text);
  if (response.ok) {
    expect(response.status).toBe(200);
    return { ok: true, message: json, header };
  }
  if (response.status === 401)
    expect(header("www-authenticate")).toMatch(/^Bearer(?: error="invalid_token"(?:, .+)?)?$/);
  const isTransports = [405, 406, 413, 414, 415, 431].includes(response.status);
  if (!isTransports) expect(response.status, text).toBe(httpStatusOf[json.code]);
  return { ok: false, status: json, header };
}

function take(json: Json, path: readonly string[]): Json {
  const [key, ...rest] = path;
  if (json === undefined || key === undefined) return undefined;
  if (rest.length > 0) return take(json[key], rest);
  const value = json[key];
  delete json[key];
  return value;
}

function parameters(json: Json, prefix: string): [string, string][] {
  return Object.entries(json).flatMap(([key, value]): [string, string][] => {
    const name = prefix + snakeCase(key);
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value.map((item) => [name, String(item)]);
    return typeof value === "object" ? parameters(value, `${name}.`) : [[name, String(value)]];
  });
}
