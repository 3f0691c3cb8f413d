/**
 * The parameters of a request to the token service, from the query and from a form or JSON body. A parameter without a
 * value counts as absent (RFC 6749, 3.2). Names in a JSON body may be in camelCase. Tokens are refused in a URL, which
 * logs and histories would keep.
 */

import { Code } from "@connectrpc/connect";
import { type JsonNode, JsonSyntaxError, parseJson, snakeCase } from "../codec/index.ts";
import { invalid } from "../errors.ts";
import { unverifiedBytes } from "../http/index.ts";
import { type BodyWatch, checkBodyHeaders, headerOf, type PortRequest, Refusal, readBody } from "../message/index.ts";
import { shorten } from "../violations.ts";

/**
 * Maximum size of a body, before and after decompression. It may hold the token, so it is read before its sender is
 * verified.
 */
const maxBodyBytes = unverifiedBytes;
const secretNames = ["token", "subject_token", "actor_token", "refresh_token", "access_token", "client_secret"];

/** Parameters by name. */
export class Parameters {
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values;
  }

  /** The values of all these parameters. */
  all(...names: readonly string[]): readonly string[] {
    return names.flatMap((name) => this.#values.get(name) ?? []);
  }

  /** The value of a parameter. Errors: INVALID_ARGUMENT if it is repeated. */
  one(name: string): string | undefined {
    const [value, ...others] = this.all(name);
    if (others.length > 0) throw invalid({ field: name, description: `${name} must not be repeated` });
    return value;
  }

  /** Errors: INVALID_ARGUMENT for an unknown parameter: a mistyped one could grant more than was meant. */
  refuseOthers(known: readonly string[]): void {
    const others = [...this.#values.keys()].filter((name) => !known.includes(name));
    if (others.length > 0)
      throw invalid(others.map((name) => ({ field: shorten(name), description: "is not a parameter here" })));
  }
}

/**
 * Reads the parameters of a request. Errors: INVALID_ARGUMENT; Refusal (413, 415) for the length or the headers of the
 * body.
 */
export async function readParameters(request: PortRequest, watch: BodyWatch | undefined): Promise<Parameters> {
  const values = new Map<string, string[]>();
  const add = (name: string, value: string) => {
    if (value === "") return;
    const list = values.get(name);
    if (list === undefined) values.set(name, [value]);
    else list.push(value);
  };
  const target = request.url ?? "";
  const mark = target.indexOf("?");
  for (const [name, value] of new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1))) {
    if (secretNames.includes(snakeCase(name)))
      throw invalid({
        field: name,
        description: "tokens travel in the Authorization header or in a body, never in a URL",
      });
    add(name, value);
  }
  const hasBody = request.method === "POST";
  checkBodyHeaders(request, hasBody ? "raw" : "none", maxBodyBytes);
  const type = bodyType(request);
  const body = await readBody(request, hasBody ? "raw" : "none", maxBodyBytes, watch);
  if (body.length === 0) return new Parameters(values);
  if (type === "form") for (const [name, value] of new URLSearchParams(utf8(body))) add(name, value);
  else for (const [name, value] of membersOf(body)) add(snakeCase(name), value);
  return new Parameters(values);
}

function bodyType(request: PortRequest): "form" | "json" {
  const [type = "", ...parameters] = (headerOf(request, "content-type") ?? "").toLowerCase().split(/\s*;\s*/);
  const isUtf8 = parameters.every(
    (parameter) => !parameter.startsWith("charset=") || /^charset="?utf-?8"?$/.test(parameter),
  );
  if (isUtf8 && type.trim() === "application/x-www-form-urlencoded") return "form";
  if (isUtf8 && (type.trim() === "application/json" || type.trim() === "")) return "json";
  throw new Refusal(
    415,
    Code.InvalidArgument,
    "Invalid argument: the body must be application/x-www-form-urlencoded or application/json in UTF-8",
    { accept: "application/x-www-form-urlencoded, application/json" },
  );
}

function utf8(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw invalid({ field: "", description: "the body is not UTF-8" });
  }
}

/** The members of a JSON object. Errors: INVALID_ARGUMENT unless each is a string or a list of strings. */
function membersOf(body: Uint8Array): [string, string][] {
  let json: JsonNode;
  try {
    json = parseJson(body);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw invalid({ field: "", description: `the body is not JSON: ${error.message}` });
  }
  if (!(json instanceof Map)) throw invalid({ field: "", description: "the body must be a JSON object" });
  return [...json].flatMap(([name, value]) => {
    const list = Array.isArray(value) ? value : value === null ? [] : [value];
    return list.map((item): [string, string] => {
      if (typeof item !== "string")
        throw invalid({ field: name.slice(0, 100), description: "must be a text or a list of texts" });
      return [name, item];
    });
  });
}
