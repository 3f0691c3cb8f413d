/** The operations of a PATCH request (RFC 7644, section 3.5.2). */
import { ScimError } from "./errors.ts";
import { type PatchPath, parsePath } from "./filter.ts";
import { limits } from "./limits.ts";
import { checkSchemas, type Json } from "./resource.ts";

/** An operation. Without a path its value names the attributes. */
export interface Operation {
  readonly op: "add" | "replace" | "remove";
  readonly path: string | undefined;
  readonly value: unknown;
}

/** Reads the operations of a request. Errors: ScimError. */
export function operationsOf(request: unknown): Operation[] {
  checkSchemas(request);
  const given = isObject(request) ? memberOf(request, "operations") : undefined;
  if (!Array.isArray(given) || given.length === 0)
    throw new ScimError(400, "Operations must be a list with an operation", "invalidSyntax");
  if (given.length > limits.operations)
    throw new ScimError(400, `more than ${limits.operations} operations`, "tooMany");
  return given.map((operation) => {
    if (!isObject(operation)) throw new ScimError(400, "an operation must be an object", "invalidSyntax");
    const path = memberOf(operation, "path");
    const op = memberOf(operation, "op");
    const name = typeof op === "string" ? op.toLowerCase() : undefined;
    if (name !== "add" && name !== "replace" && name !== "remove")
      throw new ScimError(400, "op must be add, replace or remove", "invalidSyntax");
    if (path !== undefined && path !== null && typeof path !== "string")
      throw new ScimError(400, "path must be a string", "invalidPath");
    return { op: name, path: path ?? undefined, value: memberOf(operation, "value") };
  });
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member with a name, in any case. */
function memberOf(object: Json, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const key = Object.keys(object).find((each) => each.toLowerCase() === name);
  return key === undefined ? undefined : object[key];
}

/** Parses the paths of one request, each once. */
export class Paths {
  readonly #parsed = new Map<string, PatchPath>();

  /** Errors: ScimError. */
  parse(text: string): PatchPath {
    let path = this.#parsed.get(text);
    if (path === undefined) {
      path = parsePath(text);
      this.#parsed.set(text, path);
    }
    return path;
  }
}

/** What the operations of one request may do. */
export class Work {
  #left: number = limits.work;

  /** Takes from what is left, before it is done. Errors: ScimError. */
  spend(amount: number): void {
    this.#left -= amount;
    if (this.#left < 0)
      throw new ScimError(400, "the operations look at too many values; send them in several requests", "tooMany");
  }
}
