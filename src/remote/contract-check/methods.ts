/** What holds for every method: authentication, unknown uids, limits of lists. */
import type { DescMethod, DescMethodUnary, JsonObject } from "@bufbuild/protobuf";
import { iam } from "../../../gen/platform/annotations/annotations_pb.ts";
import { getOption } from "../../annotations.ts";
import { contractCatalog } from "../catalog/contract.ts";
import { resourceField } from "../documents/requests.ts";
import { unaryMethods } from "./calls.ts";
import { pathFields } from "./inventory.ts";
import type { RuleId } from "./rules.ts";
import { freshUid } from "./server/uids.ts";
import { codeOf, type Target } from "./target.ts";

/** Fields of lists that are no less than 0. */
const limits = [
  ["pageSize", "lists/negative-page-size"],
  ["skip", "lists/negative-skip"],
] as const;

/** Checks every method that the server has, without changing anything. @param group undefined: there is none. */
export async function checkMethods(target: Target, group: string | undefined): Promise<void> {
  const parent = group ?? freshUid("");
  for (const method of unaryMethods()) {
    if (target.inventory.over(method.name).length === 0) continue; // which the inventory tells
    await checkAuthentication(target, method, parent);
    for (const [field, rule] of limits) {
      if (method.input.field[field] === undefined) continue;
      const { name, jsonName } = method.input.field[field];
      await target.refusedField(rule, method.name, pathFields(method, parent, { [jsonName]: -1 }), name);
    }
  }
  if (group !== undefined) await checkUnknownUids(target, group);
}

async function checkAuthentication(target: Target, method: DescMethodUnary, group: string): Promise<void> {
  const request = pathFields(method, group);
  const { results, inventory } = target;
  const outcome = target.compareOutcomes(method.name, inventory.withoutToken(method.name));
  if (getOption(method, iam).rule.case !== "enabled") {
    results.compare("authentication/open", method.name, "message" in outcome, true);
    return;
  }
  results.compare("authentication/missing-token", method.name, codeOf(outcome), "UNAUTHENTICATED");
  await target.refused("authentication/invalid-token", method.name, request, "UNAUTHENTICATED", "not-a-token");
}

/** Get, Update and Delete of what does not exist. */
async function checkUnknownUids(target: Target, group: string): Promise<void> {
  for (const { methods, schema } of contractCatalog().resources) {
    const { Get, Update, Delete } = methods;
    const isScoped = Get?.input.field.uid !== undefined && Delete !== undefined;
    if (!isScoped) continue; // data of no group, which has ids of its own
    const uid = () => freshUid(group);
    const refused = (rule: RuleId, { name }: DescMethod, request: JsonObject) =>
      target.refused(rule, name, request, "NOT_FOUND");
    await refused("get/unknown-uid", Get, { uid: uid() });
    await refused("get/malformed-uid", Get, { uid: "not-a-uid" });
    await refused("delete/unknown-uid", Delete, { uid: uid() });
    if (Update !== undefined)
      await refused("update/unknown-uid", Update, { [resourceField(Update, schema).jsonName]: { uid: uid() } });
  }
}
