/** The server that is checked: calls whose answers are compared over all protocols, and what was created there. */
import { randomBytes } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { CommandFailure } from "../../command/index.ts";
import { reasonOf } from "../../errors.ts";
import { type Caller, type CallOptions, methodNamed, type Outcome, protocols, type Status } from "./calls.ts";
import type { Results } from "./results.ts";

/** The HTTP status of each code. */
const httpStatusOf: Readonly<Record<number, number>> = {
  1: 499,
  3: 400,
  4: 504,
  5: 404,
  6: 409,
  7: 403,
  8: 429,
  9: 400,
  10: 409,
  12: 501,
  13: 500,
  14: 503,
  16: 401,
};

const typeUrl = "type.googleapis.com/google.rpc.";

/** A call failed that other checks need. */
export class MissingNeed extends CommandFailure {}

/** The server, seen by who checks it. */
export class Target {
  readonly caller: Caller;
  readonly token: string;
  readonly results: Results;
  readonly signal: AbortSignal;
  /** What is deleted at the end, in reverse. */
  readonly #created: { readonly method: string; readonly uid: string }[] = [];

  /** @param signal ends the checks: each further call fails. */
  constructor(caller: Caller, token: string, results: Results, signal: AbortSignal) {
    this.signal = signal;
    this.caller = caller;
    this.token = token;
    this.results = results;
  }

  /** Makes a call over REST that the checks need. Errors: {@link MissingNeed} if it fails, which is a difference. */
  async make(name: string, request: JsonObject): Promise<JsonObject> {
    const outcome = await this.#attempt(name, request, { token: this.token, over: "rest" });
    if ("message" in outcome) {
      this.results.compare("calls/succeed", name, "an answer", "an answer");
      const { uid } = outcome.message;
      if (name.startsWith("Create")) this.#created.push({ method: name.replace("Create", "Delete"), uid: String(uid) });
      return outcome.message;
    }
    this.results.compare("calls/succeed", name, outcome.status.message, "an answer");
    throw new MissingNeed(`${name} failed: ${outcome.status.message}`);
  }

  /** Makes a call over every protocol and compares the outcomes; that of REST. @param token null: without one. */
  async call(name: string, request: JsonObject, token: string | null = this.token): Promise<Outcome> {
    const outcomes = await Promise.all(
      protocols.map((over) => this.#attempt(name, request, { token: token ?? undefined, over })),
    );
    const [first, ...others] = outcomes.map(comparable);
    for (const other of others) this.results.compare("protocols/same-answer", name, other, first);
    const [overRest] = outcomes;
    if ("status" in overRest!) this.#checkStatus(name, overRest.status, overRest.rest?.httpStatus);
    return overRest!;
  }

  /** The same for a call that succeeds; undefined, which is a difference of the rule, if it does not. */
  async answer(
    rule: Parameters<Results["compare"]>[0],
    name: string,
    request: JsonObject,
    token?: string,
  ): Promise<JsonObject | undefined> {
    const outcome = await this.call(name, request, token);
    if ("message" in outcome) return outcome.message;
    this.results.compare(rule, name, codeOf(outcome), "an answer");
    return undefined;
  }

  /** Whether the server has a method at all, by Connect, which tells that from a resource that is missing. */
  async serves(name: string, request: JsonObject): Promise<boolean> {
    const outcome = await this.#attempt(name, request, { token: undefined, over: "connect" });
    const isServed = !("status" in outcome) || outcome.status.code !== Code.Unimplemented;
    return this.results.compare("methods/served", name, isServed, true);
  }

  /** Expects that a call fails with a code. Returns its status. */
  async refused(
    rule: Parameters<Results["compare"]>[0],
    name: string,
    request: JsonObject,
    code: string,
    token?: string | null,
  ): Promise<Status | undefined> {
    const outcome = await this.call(name, request, token);
    this.results.compare(rule, name, codeOf(outcome), code);
    return "status" in outcome ? outcome.status : undefined;
  }

  /** Expects INVALID_ARGUMENT about a field, and perhaps about others. */
  async refusedField(
    rule: Parameters<Results["compare"]>[0],
    name: string,
    request: JsonObject,
    field: string,
  ): Promise<void> {
    const status = await this.refused(rule, name, request, "INVALID_ARGUMENT");
    if (status?.code !== 3) return;
    const fields = violatedFields(status);
    this.results.compare(rule, name, fields.includes(field) ? [field] : fields, [field]);
  }

  /** Deletes what {@link make} created. Returns what could not be deleted. */
  async cleanUp(): Promise<string[]> {
    const left: string[] = [];
    for (const { method, uid } of this.#created.reverse()) {
      const schema = methodNamed(method);
      const request = { uid, ...(schema.input.field.force !== undefined && { force: true }) };
      const outcome = await this.caller.call(schema, request, { token: this.token, over: "rest" });
      if ("status" in outcome && outcome.status.code !== 5) left.push(`${uid}: ${outcome.status.message}`);
    }
    return left;
  }

  async #attempt(name: string, request: JsonObject, options: CallOptions): Promise<Outcome> {
    if (this.signal.aborted) throw new CommandFailure("interrupted", 130);
    return this.caller.call(methodNamed(name), request, options);
  }

  #checkStatus(name: string, { code, message, details }: Status, httpStatus: number | undefined): void {
    const { results } = this;
    const [first, second] = details;
    results.compare("errors/status", name, httpStatus, httpStatusOf[code] ?? `that of code ${code}`);
    results.compare("errors/status", name, message !== "", true);
    const domain = methodNamed(name).parent.typeName.split(".")[1];
    const info = { type: first?.["@type"], reason: first?.reason, domain: String(first?.domain).split(".")[0] };
    results.compare("errors/error-info", name, info, { type: `${typeUrl}ErrorInfo`, reason: reasonOf(code), domain });
    if (code === 3) results.compare("errors/bad-request", name, second?.["@type"], `${typeUrl}BadRequest`);
    if (code === 5 || code === 6)
      results.compare("errors/resource-info", name, second?.["@type"], `${typeUrl}ResourceInfo`);
  }
}

/** Runs checks up to a call that they need and that fails, which is noted already. */
export async function attempt(checks: () => Promise<void>): Promise<void> {
  try {
    await checks();
  } catch (error) {
    if (!(error instanceof MissingNeed)) throw error;
  }
}

/** `OK`, or the name of the error's code. */
export function codeOf(outcome: Outcome): string {
  return "message" in outcome ? "OK" : reasonOf(outcome.status.code);
}

/** The fields of the violations of a BadRequest. */
export function violatedFields({ details }: Status): unknown[] {
  const violations = details.find((detail) => detail["@type"] === `${typeUrl}BadRequest`)?.fieldViolations;
  return ((violations ?? []) as JsonObject[]).map(({ field }) => field);
}

/** A name that nothing has: `check-0f3a…`. */
export function freshName(): string {
  return `check-${randomBytes(6).toString("hex")}`;
}

/** A well-formed uid below `parent` that nothing has; "" for one of a root. */
export function freshUid(parent: string): string {
  return parent === "" ? randomBytes(20).toString("hex") : `${parent}/${randomBytes(8).toString("hex")}`;
}

/** An outcome without what differs between protocols and calls: HTTP, and page tokens, which are sealed anew. */
function comparable(outcome: Outcome): unknown {
  if ("status" in outcome) return outcome.status;
  const { nextPageToken, ...message } = outcome.message;
  return { ...message, hasNextPage: nextPageToken !== undefined };
}
