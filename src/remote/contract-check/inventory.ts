/**
 * What a server has of the contract, and over which protocols: found by calls without a token, which change nothing.
 */
import type { DescMethodUnary, JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import { getOption, standardMethodOf } from "../../annotations.ts";
import { CommandFailure } from "../../command/index.ts";
import { type Caller, methodNamed, type Outcome, type Protocol, unaryMethods } from "./calls.ts";
import type { Results } from "./results.ts";
import { freshUid } from "./server/uids.ts";

const atOnce = 8;
const names: Readonly<Record<Protocol, string>> = { rest: "REST", connect: "Connect", grpc: "gRPC" };

/** What {@link takeInventory} finds. */
export interface Inventory {
  /** The protocols that serve any method, in the order of {@link names}. */
  readonly protocols: readonly Protocol[];
  /** Those that serve a method. */
  over(name: string): readonly Protocol[];
  /** How a call of a method without a token ended. */
  withoutToken(name: string): ReadonlyMap<Protocol, Outcome>;
}

/** What is noted of it. */
export interface InventoryNote {
  /** How many the contract has. */
  readonly methods: number;
  /** How many are served, by protocol. */
  readonly served: Readonly<Record<string, number>>;
  /** Services, methods, and methods that only some protocols have. */
  readonly missing: readonly string[];
}

/** Takes the inventory. Errors: CommandFailure if no protocol serves any method. */
export async function takeInventory(
  caller: Caller,
  token: string,
  wanted: readonly Protocol[],
  results: Results,
): Promise<Inventory> {
  const reasons = new Map<Protocol, string>();
  const answering: Protocol[] = [];
  let failure: CommandFailure | undefined;
  for (const over of wanted) {
    const probe = await probed(caller, token, over).catch((error: unknown) => {
      if (!(error instanceof CommandFailure)) throw error;
      failure ??= error;
      return { reason: error.message, isAnswer: false };
    });
    if (probe.reason !== undefined) reasons.set(over, probe.reason);
    if (probe.isAnswer) answering.push(over);
  }

  const methods = unaryMethods();
  const outcomes = new Map<string, ReadonlyMap<Protocol, Outcome>>();
  for (let i = 0; i < methods.length; i += atOnce)
    await Promise.all(
      methods.slice(i, i + atOnce).map(async (method) => {
        const request = pathFields(method, freshUid(""));
        const calls = answering.map(
          async (over): Promise<[Protocol, Outcome]> => [
            over,
            await callTwice(caller, method, request, { token: undefined, over }),
          ],
        );
        outcomes.set(method.name, new Map(await Promise.all(calls)));
      }),
    );
  const over = (name: string) =>
    [...outcomes.get(name)!].filter(([protocol, outcome]) => isServed(protocol, outcome)).map(([protocol]) => protocol);
  const protocols = answering.filter((protocol) => methods.some(({ name }) => over(name).includes(protocol)));
  const reasonOf = (protocol: Protocol) => reasons.get(protocol) ?? `no method of the contract over ${names[protocol]}`;
  if (protocols.length === 0)
    throw failure ?? new CommandFailure(`cannot begin: ListGroups: ${wanted.map(reasonOf).join("; ")}`);

  for (const protocol of wanted)
    results.compare(
      "protocols/served",
      names[protocol],
      protocols.includes(protocol) ? "served" : reasonOf(protocol),
      "served",
    );
  const inventory = { protocols, over, withoutToken: (name: string) => outcomes.get(name)! };
  noteMethods(inventory, results);
  return inventory;
}

/** Makes a call that changes nothing, and again if no answer comes: the server may have closed an idle connection. */
async function callTwice(...[caller, ...call]: [Caller, ...Parameters<Caller["call"]>]): Promise<Outcome> {
  const first = await caller.call(...call).catch((error: unknown) => {
    if (error instanceof CommandFailure) return undefined;
    throw error;
  });
  return first === undefined || first.isUnreadable === true ? caller.call(...call) : first;
}

/** Tries a protocol. `isAnswer`: methods may be served over it; `reason`: why not, if that is known. */
async function probed(
  caller: Caller,
  token: string,
  over: Protocol,
): Promise<{ readonly reason?: string; readonly isAnswer: boolean }> {
  const outcome = await callTwice(caller, methodNamed("ListGroups"), firstGroupRequest, { token, over });
  if ("message" in outcome) return { isAnswer: true };
  const { code, message } = outcome.status;
  if (code === Code.Unavailable || code === Code.DeadlineExceeded) return { reason: message, isAnswer: false };
  if (outcome.isUnreadable !== true) return { isAnswer: true };
  const isHttp = over !== "grpc" || /HTTP \d+$/.test(message); // then it may be the path that is unknown
  return { reason: message, isAnswer: isHttp };
}

/** Asks for the first root group. */
export const firstGroupRequest: JsonObject = { uidp: { inRoot: true }, pageSize: 1 };

/** Whether a call without a token met a method. */
function isServed(over: Protocol, outcome: Outcome): boolean {
  if ("message" in outcome) return true;
  const { code, details } = outcome.status;
  if (outcome.isUnreadable === true || code === Code.Unimplemented) return false;
  if (over !== "rest" || outcome.rest?.httpStatus !== 404) return true;
  return details.some((detail) => String(detail["@type"]).endsWith("/google.rpc.ResourceInfo")); // else it is the path
}

/**
 * Compares what is served with the contract: a difference for a service that is missing as a whole, else for a method.
 */
function noteMethods({ protocols, over }: Inventory, results: Results): void {
  const missing: string[] = [];
  const methods = unaryMethods();
  for (const service of new Set(methods.map(({ parent }) => parent))) {
    const own = methods.filter(({ parent }) => parent === service).map(({ name }) => name);
    const isMissing = own.every((name) => over(name).length === 0);
    for (const [operation, served] of isMissing
      ? [[service.name, []] as const]
      : own.map((name) => [name, over(name)] as const)) {
      if (results.compare("methods/served", operation, served, protocols)) continue;
      missing.push(
        served.length === 0 ? operation : `${operation} (only over ${served.map((it) => names[it]).join(", ")})`,
      );
    }
  }
  const countOf = (protocol: Protocol) => methods.filter(({ name }) => over(name).includes(protocol)).length;
  const served = Object.fromEntries(protocols.map((protocol) => [names[protocol], countOf(protocol)]));
  results.note("inventory/served", { methods: methods.length, served, missing } satisfies InventoryNote);
}

/** A request with a uid in each field that the path of the method needs. */
export function pathFields(method: DescMethodUnary, group: string, others: JsonObject = {}): JsonObject {
  const { value = "" } = getOption(method, http).pattern;
  const request: JsonObject = { ...others };
  for (const [, path = ""] of String(value).matchAll(/\{([^}=]+)/g)) {
    const [name = "", below] = path.split(".");
    const field = method.input.fields.find((it) => it.name === name)!;
    const uid = standardMethodOf(method)?.verb === "Create" ? group : freshUid(group);
    request[field.jsonName] = below === undefined ? uid : { uid };
  }
  return request;
}
