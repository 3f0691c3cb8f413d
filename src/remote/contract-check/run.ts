/** Runs all checks in a group of their own. */
import { CommandFailure } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import { checkAuthorization } from "./authorization.ts";
import { Caller, methodNamed } from "./calls.ts";
import { checkHttpErrors } from "./http-errors.ts";
import { checkLists } from "./lists.ts";
import { checkMasks } from "./masks.ts";
import { checkMethods } from "./methods.ts";
import { checkResources } from "./resources.ts";
import { type Result, Results } from "./results.ts";
import { attempt, freshName, Target } from "./target.ts";

/** What is checked. */
export interface CheckOptions {
  /** The base URL of the server. */
  readonly server: string;
  /** Of somebody who may create and delete everything in `group`. */
  readonly token: string;
  /** uid of the group in which the checks create one of their own; undefined: the first root group. */
  readonly group: string | undefined;
  /** Milliseconds that one call may take. */
  readonly timeoutMs: number;
  /** Ends the checks. */
  readonly signal: AbortSignal;
  /** Told what is checked next. */
  onProgress(what: string): void;
}

const steps = [
  ["methods", checkMethods],
  ["resources", checkResources],
  ["field masks", checkMasks],
  ["lists", checkLists],
  ["HTTP errors", checkHttpErrors],
  ["authorization", checkAuthorization],
] as const;

/**
 * Checks a server. Deletes what it created. Errors: CommandFailure if it is not reached or no
 * group can be made, or when `signal` ends it.
 */
export async function checkContract(options: CheckOptions): Promise<readonly Result[]> {
  const { server, token, timeoutMs, signal, onProgress } = options;
  const caller = await Caller.create(server, timeoutMs);
  const results = new Results();
  const target = new Target(caller, token, results, signal);
  try {
    const parent = options.group ?? (await firstGroup(target));
    const group = await target.make("CreateGroup", { parent, group: { name: freshName() } });
    for (const [what, check] of steps) {
      onProgress(what);
      await attempt(() => check(target, String(group.uid)));
    }
  } finally {
    onProgress("cleaning up");
    const left = await target.cleanUp();
    caller.close();
    for (const what of left) console.error(printable(`warning: not deleted: ${what}`));
  }
  return results.all;
}

async function firstGroup({ caller, token }: Target): Promise<string> {
  const request = { uidp: { inRoot: true }, pageSize: 1 };
  const outcome = await caller.call(methodNamed("ListGroups"), request, { token, over: "rest" });
  if ("status" in outcome) throw new CommandFailure(`cannot begin: ListGroups: ${outcome.status.message}`);
  const [group] = outcome.message.groups as { readonly uid: string }[];
  if (group === undefined) throw new CommandFailure("the token sees no root group; give one by --group");
  return group.uid;
}
