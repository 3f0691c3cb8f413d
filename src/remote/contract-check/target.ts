/** The server that is checked: calls whose answers are compared over all protocols, and what was created there. */
import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { CommandFailure } from "../../command/index.ts";
import { reasonOf } from "../../errors.ts";
import {
  type Caller,
  type CallOptions,
  type JsonAnswer,
  methodNamed,
  type Outcome,
  type Protocol,
  type Status,
  wholeMessage,
} from "./calls.ts";
import { Created } from "./created.ts";
import type { Inventory } from "./inventory.ts";
import type { Results } from "./results.ts";
import type { RuleId } from "./rules.ts";
import { oddities } from "./server/json-form.ts";

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

/** A call failed that other checks need, or the server lacks its method. */
export class MissingNeed extends CommandFailure {}

/** The server, seen by who checks it. */
export class Target {
  readonly caller: Caller;
  readonly token: string;
  readonly results: Results;
  readonly inventory: Inventory;
  readonly signal: AbortSignal;
  readonly #created = new Created();
  readonly #running = new Set<Promise<Outcome>>();
  readonly #unknownFields = new Set<string>();

  /** @param signal ends the checks: each further call fails. */
  constructor(caller: Caller, token: string, results: Results, inventory: Inventory, signal: AbortSignal) {
    this.signal = signal;
    this.caller = caller;
    this.token = token;
    this.results = results;
    this.inventory = inventory;
    caller.onJson = (method, answer) => this.#checkJson(method, answer);
  }

  /** Whether the server has REST, so that what only REST has can be checked. */
  get hasRest(): boolean {
    return this.inventory.protocols.includes("rest");
  }

  /** Makes a call that the checks need. Errors: {@link MissingNeed} if it fails, which is a difference. */
  async make(name: string, request: JsonObject): Promise<JsonObject> {
    const outcome = await this.one("calls/succeed", name, request);
    if ("message" in outcome) {
      this.results.compare("calls/succeed", name, "an answer", "an answer");
      return outcome.message;
    }
    this.results.compare("calls/succeed", name, outcome.status.message, "an answer");
    throw new MissingNeed(`${name} failed: ${outcome.status.message}`);
  }

  /**
   * Makes a call over the first protocol that serves it.
   * Errors: {@link MissingNeed} if none does; the rule is skipped then.
   */
  async one(rule: RuleId, name: string, request: JsonObject, headers: Record<string, string> = {}): Promise<Outcome> {
    const over = this.#protocolsOf(rule, name)[0]!;
    return this.#attempt(name, request, { token: this.token, over, headers });
  }

  /**
   * Makes a call over every protocol that serves it, and compares the outcomes; that of the first.
   * Errors: as {@link one}. @param token null: without one.
   */
  async call(rule: RuleId, name: string, request: JsonObject, token: string | null = this.token): Promise<Outcome> {
    const calls = this.#protocolsOf(rule, name).map(
      async (over): Promise<[Protocol, Outcome]> => [
        over,
        await this.#attempt(name, request, { token: token ?? undefined, over }),
      ],
    );
    return this.compareOutcomes(name, new Map(await Promise.all(calls)));
  }

  /** Compares the outcomes of a call; that over the first protocol that serves it. */
  compareOutcomes(name: string, outcomes: ReadonlyMap<Protocol, Outcome>): Outcome {
    const [first, ...others] = this.inventory.over(name).map((over) => outcomes.get(over)!);
    for (const other of others)
      this.results.compare("protocols/same-answer", name, comparable(other), comparable(first!));
    if ("status" in first!) this.#checkStatus(name, first.status, first.rest?.httpStatus);
    return first!;
  }

  /**
   * The same for a call that succeeds; undefined if it does not, which is a difference of the rule, or if the server
   * lacks the method, for which the rule is skipped.
   */
  async answer(rule: RuleId, name: string, request: JsonObject, token?: string): Promise<JsonObject | undefined> {
    if (!this.#has(rule, name)) return undefined;
    const outcome = await this.call(rule, name, request, token);
    if ("message" in outcome) return outcome.message;
    this.results.compare(rule, name, codeOf(outcome), "an answer");
    return undefined;
  }

  /** Expects that a call fails with a code, unless the server lacks the method. Returns its status. */
  async refused(
    rule: RuleId,
    name: string,
    request: JsonObject,
    code: string,
    token?: string | null,
  ): Promise<Status | undefined> {
    if (!this.#has(rule, name)) return undefined;
    const outcome = await this.call(rule, name, request, token);
    this.results.compare(rule, name, codeOf(outcome), code);
    return "status" in outcome ? outcome.status : undefined;
  }

  /** Expects INVALID_ARGUMENT about a field, and perhaps about others. */
  async refusedField(rule: RuleId, name: string, request: JsonObject, field: string): Promise<void> {
    const status = await this.refused(rule, name, request, "INVALID_ARGUMENT");
    if (status?.code !== 3) return;
    const fields = violatedFields(status);
    this.results.compare(rule, name, fields.includes(field) ? [field] : fields, [field]);
  }

  /** Notes what a request that is none of a method has created. */
  addCreated(method: string, json: JsonObject): void {
    this.#created.add(method, {}, { message: json });
  }

  /** Deletes what was created, once all calls have ended. Returns what is left, or may be. */
  async cleanUp(): Promise<string[]> {
    await Promise.allSettled(this.#running);
    const over = (name: string) => this.inventory.over(name)[0] ?? this.inventory.protocols[0]!;
    return this.#created.delete(async (name, request) => {
      try {
        return await this.caller.call(methodNamed(name), request, { token: this.token, over: over(name) });
      } catch (error) {
        return { status: { code: 14, message: (error as Error).message, details: [] } }; // it is named as left
      }
    });
  }

  #protocolsOf(rule: RuleId, name: string): readonly Protocol[] {
    if (this.#has(rule, name)) return this.inventory.over(name);
    throw new MissingNeed(`the server does not have ${name}`);
  }

  /** Whether the server has a method; the rule is skipped if not. */
  #has(rule: RuleId, name: string): boolean {
    if (this.inventory.over(name).length > 0) return true;
    this.results.skip(rule, name, "the server does not have it");
    return false;
  }

  async #attempt(name: string, request: JsonObject, options: CallOptions): Promise<Outcome> {
    if (this.signal.aborted) throw new CommandFailure("interrupted", 130);
    const running = this.caller.call(methodNamed(name), request, options).then((outcome) => {
      this.#created.add(name, request, outcome);
      return outcome;
    });
    this.#running.add(running);
    return running.finally(() => this.#running.delete(running));
  }

  /** Checks what readers of ProtoJSON pass over. */
  #checkJson(method: DescMethod, { contentType, json }: JsonAnswer): void {
    const { results } = this;
    if (method.output.typeName === "google.api.HttpBody") return;
    const type = contentType?.split(";")[0]?.trim().toLowerCase();
    results.compare("answers/content-type", method.name, type, "application/json");
    if (json === undefined) return;
    let whole: JsonObject;
    try {
      whole = wholeMessage(method.output, json);
    } catch {
      return; // the call reports that it cannot be read
    }
    const found = oddities(method.output, json, whole);
    for (const [rule, kind] of [
      ["answers/times", "time"],
      ["answers/json", "form"],
    ] as const) {
      const odd = found.find((it) => it.kind === kind);
      results.compare(rule, method.name, odd && { [odd.field]: odd.actual }, odd && { [odd.field]: odd.expected });
    }
    const known = this.#unknownFields.size;
    for (const { kind, field } of found) if (kind === "unknown") this.#unknownFields.add(field);
    if (this.#unknownFields.size > known) results.note("answers/unknown-fields", [...this.#unknownFields].sort());
  }

  #checkStatus(name: string, { code, message, details }: Status, httpStatus: number | undefined): void {
    const { results } = this;
    const [first, second] = details;
    if (httpStatus !== undefined)
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

/** An outcome without what differs between protocols and calls: HTTP, and page tokens, which are sealed anew. */
function comparable(outcome: Outcome): unknown {
  if ("status" in outcome) return outcome.status;
  const { nextPageToken, ...message } = outcome.message;
  return { ...message, hasNextPage: nextPageToken !== undefined };
}
