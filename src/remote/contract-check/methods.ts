/** What holds for every method: authentication, unknown uids, limits of lists. */
import { type DescMethodUnary, getOption, type JsonObject } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import { iam } from "../../../gen/platform/annotations/annotations_pb.ts";
import { standardMethodOf } from "../../standard-method.ts";
import { contractCatalog } from "../catalog/contract.ts";
import { resourceField } from "../documents/requests.ts";
import { unaryMethods } from "./calls.ts";
import { freshUid, type Target } from "./target.ts";

/** Fields of lists that are no less than 0. */
const limits = [
  ["pageSize", "lists/negative-page-size"],
  ["skip", "lists/negative-skip"],
] as const;

/** Checks every method of the contract, without changing anything. */
export async function checkMethods(target: Target, group: string): Promise<void> {
  for (const method of unaryMethods()) {
    if (!(await target.serves(method.name, pathFields(method, group)))) continue;
    await checkAuthentication(target, method, group);
    for (const [field, rule] of limits) {
      if (method.input.field[field] === undefined) continue;
      const { name, jsonName } = method.input.field[field];
      await target.refusedField(rule, method.name, pathFields(method, group, { [jsonName]: -1 }), name);
    }
  }
  await checkUnknownUids(target, group);
}

async function checkAuthentication(target: Target, method: DescMethodUnary, group: string): Promise<void> {
  const request = pathFields(method, group);
  const { results } = target;
  if (getOption(method, iam).rule.case !== "enabled") {
    const outcome = await target.call(method.name, request, null);
    results.compare("authentication/open", method.name, "message" in outcome, true);
    return;
  }
  await target.refused("authentication/missing-token", method.name, request, "UNAUTHENTICATED", null);
  await target.refused("authentication/invalid-token", method.name, request, "UNAUTHENTICATED", "not-a-token");
}

/** Get, Update and Delete of what does not exist. */
async function checkUnknownUids(target: Target, group: string): Promise<void> {
  for (const { methods, schema } of contractCatalog().resources) {
    const { Get, Update, Delete } = methods;
    const isScoped = Get?.input.field.uid !== undefined && Delete !== undefined;
    if (!isScoped) continue; // data of no group, which has ids of its own
    await target.refused("get/unknown-uid", Get.name, { uid: freshUid(group) }, "NOT_FOUND");
    await target.refused("get/malformed-uid", Get.name, { uid: "not-a-uid" }, "NOT_FOUND");
    await target.refused("delete/unknown-uid", Delete.name, { uid: freshUid(group) }, "NOT_FOUND");
    if (Update === undefined) continue;
    const body = { uid: freshUid(group) };
    await target.refused(
      "update/unknown-uid",
      Update.name,
      { [resourceField(Update, schema).jsonName]: body },
      "NOT_FOUND",
    );
  }
}

/** A request with a uid in each field that the path of the method needs. */
function pathFields(method: DescMethodUnary, group: string, others: JsonObject = {}): JsonObject {
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
