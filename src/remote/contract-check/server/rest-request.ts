/** Requests over REST, as the HTTP rules of methods say. */
import type { DescMethod, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { http } from "../../../../gen/google/api/annotations_pb.ts";
import { getOption } from "../../../annotations.ts";

/** A request over REST. */
export interface RestRequest {
  readonly verb: string;
  /** Path and query. */
  readonly target: string;
  readonly body: string | undefined;
}

/** The request of a method. @param request in JSON names. Errors: a plain Error if the method has no HTTP rule. */
export function restRequest(method: DescMethod, request: JsonObject): RestRequest {
  const { pattern, body } = getOption(method, http);
  if (pattern.case === undefined || pattern.case === "custom") throw new Error(`${method.name} has no HTTP rule`);
  const left = structuredClone(request);
  const target = pattern.value.replace(/\{([^}=]+)(=\*\*)?[^}]*\}/g, (_, name: string, isDeep: string | undefined) => {
    const value = encodeURIComponent(String(take(left, name.split(".").map(camelCase)) ?? ""));
    return isDeep ? value.replaceAll("%2F", "/") : value;
  });
  const verb = pattern.case.toUpperCase();
  if (body === "*") return { verb, target, body: JSON.stringify(left) };
  const content = body === "" ? undefined : take(left, [camelCase(body)]);
  const query = new URLSearchParams(parameters(left, "")).toString();
  return {
    verb,
    target: query === "" ? target : `${target}?${query}`,
    body: content === undefined ? undefined : JSON.stringify(content),
  };
}

/** Removes what is at a path. */
function take(json: JsonObject, [key = "", ...rest]: readonly string[]): JsonValue | undefined {
  const value = json[key];
  if (rest.length > 0) return value === undefined ? undefined : take(value as JsonObject, rest);
  delete json[key];
  return value;
}

function parameters(json: JsonObject, prefix: string): [string, string][] {
  return Object.entries(json).flatMap(([key, value]): [string, string][] => {
    const name = prefix + key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (Array.isArray(value)) return value.map((item) => [name, String(item)]);
    return typeof value === "object" && value !== null ? parameters(value, `${name}.`) : [[name, String(value)]];
  });
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
