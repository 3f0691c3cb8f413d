/** Runs all checks in a group of their own. */
import { CommandFailure } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import { checkAuthorization } from "./authorization.ts";
import { Caller, type Protocol } from "./calls.ts";
import { checkHttpErrors } from "./http-errors.ts";
import { firstGroupRequest, takeInventory } from "./inventory.ts";
import { checkLists } from "./lists.ts";
import { checkMasks } from "./masks.ts";
import { checkMethods } from "./methods.ts";
import { checkResources } from "./resources.ts";
import { type Result, Results } from "./results.ts";
import { type RuleId, rules } from "./rules.ts";
import type { Selection } from "./selection.ts";
import { freshName } from "./server/uids.ts";
import { attempt, Target } from "./target.ts";

/** What is checked. */
export interface CheckOptions {
  /** The base URL of the server. */
  readonly server: string;
  /** Of somebody who may create and delete everything in `group`. */
  readonly token: string;
  /** uid of the group in which the checks create one of their own; undefined: the first root group. */
  readonly group: string | undefined;
  /** Those over which the server is checked. */
  readonly protocols: readonly Protocol[];
  readonly selection: Selection;
  /** Keys of the differences that are known. */
  readonly baseline: ReadonlySet<string> | undefined;
  /** Milliseconds that one call may take. */
  readonly timeoutMs: number;
  /** Ends the checks. */
  readonly signal: AbortSignal;
  /** Told what is checked next. */
  onProgress(what: string): void;
}

/** A part of the check. */
type Step = { readonly what: string; readonly rules: readonly string[] } & (
  | { readonly changesNothing: true; check(target: Target, group: string | undefined): Promise<void> }
  | { readonly changesNothing?: never; check(target: Target, group: string): Promise<void> }
);

/** The rules that the inventory checks, by their beginnings. */
const inventoryRules = ["inventory/", "protocols/served", "methods/served"];

/** What is checked then, with the rules, by their beginnings, that are checked nowhere else. */
const steps: readonly Step[] = [
  {
    what: "methods",
    rules: ["authentication/", "lists/negative-", "get/", "delete/unknown-uid", "update/"],
    changesNothing: true,
    check: checkMethods,
  },
  {
    what: "resources",
    rules: ["create/", "get/created", "delete/", "masks/populated", "etag/", "lists/contains", "lists/total-count"],
    check: checkResources,
  },
  { what: "field masks", rules: ["masks/"], check: checkMasks },
  { what: "lists", rules: ["lists/"], check: checkLists },
  {
    what: "HTTP errors",
    rules: ["errors/unknown-path", "errors/wrong-verb", "errors/malformed-body", "errors/unknown-field"],
    check: checkHttpErrors,
  },
  { what: "authorization", rules: ["authorization/"], check: checkAuthorization },
];

/**
 * Checks a server: takes its inventory, then checks what it has. Deletes what it created. Errors: CommandFailure if it
 * is not reached, speaks no protocol of the contract or does not say in which group to work, or when `signal` ends it.
 */
export async function checkContract(options: CheckOptions): Promise<readonly Result[]> {
  const { server, token, timeoutMs, signal, onProgress, selection } = options;
  const caller = await Caller.create(server, timeoutMs);
  const results = new Results({ isSelected: selection.isSelected, baseline: options.baseline });
  try {
    onProgress("inventory");
    const inventory = await takeInventory(caller, token, options.protocols, results);
    const target = new Target(caller, token, results, inventory, signal);
    try {
      await checkAll(target, options);
    } finally {
      onProgress("cleaning up");
      for (const what of await target.cleanUp()) console.error(printable(`warning: not deleted: ${what}`));
    }
  } finally {
    caller.close();
  }
  return results.all;
}

async function checkAll(target: Target, options: CheckOptions): Promise<void> {
  const parent = options.group ?? (await firstGroup(target));
  let group: string | undefined;
  for (const step of stepsFor(options.selection)) {
    options.onProgress(step.what);
    if (step.changesNothing) await attempt(() => step.check(target, parent));
    else if (parent === undefined)
      target.results.skip("calls/succeed", "CreateGroup", "there is no group to work in: give one by --group");
    else
      await attempt(async () => {
        group ??= String((await target.make("CreateGroup", { parent, group: { name: freshName() } })).uid);
        await step.check(target, group);
      });
  }
}

/** The steps that check any rule that is selected: one of their own, or one that every step checks. */
function stepsFor({ mayBeSelected }: Selection): readonly Step[] {
  const isIn = (beginnings: readonly string[]) => (id: RuleId) => beginnings.some((it) => id.startsWith(it));
  const selected = (Object.keys(rules) as RuleId[]).filter(mayBeSelected);
  const checkedSomewhere = isIn([...inventoryRules, ...steps.flatMap((step) => step.rules)]);
  if (selected.some((id) => !checkedSomewhere(id))) return steps;
  return steps.filter((step) => selected.some(isIn(step.rules)));
}

/** The group to work in; undefined if the server does not say. */
async function firstGroup(target: Target): Promise<string | undefined> {
  if (target.inventory.over("ListGroups").length === 0) return undefined;
  const outcome = await target.one("calls/succeed", "ListGroups", firstGroupRequest);
  if ("status" in outcome) throw new CommandFailure(`cannot begin: ListGroups: ${outcome.status.message}`);
  const [group] = outcome.message.groups as { readonly uid: string }[];
  if (group === undefined) throw new CommandFailure("the token sees no root group; give one by --group");
  return group.uid;
}
