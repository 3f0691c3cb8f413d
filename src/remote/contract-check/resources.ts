/** The life of a resource of each kind: create, get, list, update, delete. */
import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { FieldBehavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { parentOf } from "../../uid.ts";
import { contractCatalog } from "../catalog/contract.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import { resourceField } from "../documents/requests.ts";
import { hasBehavior } from "../documents/spec.ts";
import { type Fixture, fixtures } from "./fixtures.ts";
import { freshName } from "./server/uids.ts";
import { attempt, codeOf, type Target } from "./target.ts";

/** Checks a resource of every kind that is created in groups. */
export async function checkResources(target: Target, group: string): Promise<void> {
  for (const resource of contractCatalog().resources) {
    const { Create, Get } = resource.methods;
    if (Create === undefined || Get === undefined) continue;
    const fixture = fixtures[resource.kind];
    if (fixture === undefined) target.results.skip("create/answer", Create.name, "only organisations have them");
    else await attempt(() => checkResource(target, resource, fixture, group));
  }
  await attempt(() => checkNotEmpty(target, group));
}

async function checkResource(target: Target, resource: ResourceEntry, fixture: Fixture, group: string): Promise<void> {
  const { results } = target;
  const { schema, methods } = resource;
  const [Create, Get, Update, Delete] = [methods.Create!, methods.Get!, methods.Update, methods.Delete!];
  const key = resourceField(Create, schema).jsonName;
  const parent = (await fixture.parent?.(target, group)) ?? group;
  const body = await fixture.body(target, group);
  if (schema.field.name !== undefined) {
    const status = await target.refused("create/required", Create.name, { parent, [key]: {} }, "INVALID_ARGUMENT");
    results.compare("create/required", Create.name, (status?.details.length ?? 0) > 1, true);
  }
  const created = withoutSecrets(schema, await target.make(Create.name, { parent, [key]: body }));
  const { uid, etag } = created as { uid: string; etag: string };
  const above = fixture.hasUidOfParent ? uid : parentOf(uid);
  results.compare("create/answer", Create.name, above, parent);
  results.compare(
    "create/answer",
    Create.name,
    [typeof created.createTime, typeof created.updateTime, etag !== ""],
    ["string", "string", true],
  );
  results.compare("create/answer", Create.name, selected(created, body, schema), selected(body, body, schema));
  const got = await target.answer("get/created", Get.name, { uid });
  results.compare("get/created", Get.name, got && withoutSecrets(schema, got), created);
  if (methods.List !== undefined) await checkListed(target, resource, got ?? {});
  if (Update !== undefined && fixture.change !== undefined)
    await checkEtag(target, resource, created, await fixture.change(target, group));
  const deleted = await target.one("delete/answer", Delete.name, { uid });
  results.compare("delete/answer", Delete.name, codeOf(deleted), "OK");
  if (deleted.rest !== undefined)
    results.compare("delete/answer", Delete.name, [deleted.rest.httpStatus, deleted.rest.body], [200, ""]);
  await target.refused("delete/answer", Get.name, { uid }, "NOT_FOUND");
  await target.refused("delete/unknown-uid", Delete.name, { uid }, "NOT_FOUND");
}

/** It is the only one of its uid in the list. */
async function checkListed(target: Target, { methods, schema }: ResourceEntry, got: JsonObject): Promise<void> {
  const { name, output } = methods.List!;
  const items = output.fields.find(({ message }) => message?.typeName === schema.typeName)!.jsonName;
  const page = await target.answer("lists/contains", name, { uidp: { ids: [String(got.uid)] } });
  if (page === undefined) return;
  target.results.compare("lists/contains", name, page[items], [got]);
  target.results.compare("lists/total-count", name, page.totalCount, "1");
}

/** Updates and deletes with an etag that is stale. */
async function checkEtag(
  target: Target,
  { methods, schema }: ResourceEntry,
  created: JsonObject,
  change: JsonObject,
): Promise<void> {
  const { results } = target;
  const [Get, Update, Delete] = [methods.Get!, methods.Update!, methods.Delete!];
  const key = resourceField(Update, schema).jsonName;
  const uid = String(created.uid);
  const updated = await target.make(Update.name, { [key]: { uid, ...change, etag: created.etag! } });
  results.compare("masks/populated", Update.name, selected(updated, change, schema), change);
  results.compare("etag/changes", Update.name, updated.etag !== created.etag, true);
  const stale = { uid, etag: created.etag! };
  await target.refused("etag/stale", Update.name, { [key]: { ...stale, ...change } }, "ABORTED");
  await target.refused("etag/stale", Delete.name, stale, "ABORTED");
  if (target.inventory.over(Delete.name).includes("rest")) {
    const overRest = await target.one("etag/if-match", Delete.name, { uid }, { "if-match": String(created.etag) });
    results.compare("etag/if-match", Delete.name, codeOf(overRest), "ABORTED");
  }
  const after = await target.answer("etag/stale", Get.name, { uid });
  results.compare("etag/stale", Update.name, after?.etag, updated.etag);
}

/** A group with a repo in it. */
async function checkNotEmpty(target: Target, parent: string): Promise<void> {
  const { uid } = await target.make("CreateGroup", { parent, group: { name: freshName() } });
  const repo = { name: freshName() };
  await target.make("CreateRepo", { parent: uid!, repo });
  const status = await target.refused("delete/not-empty", "DeleteGroup", { uid: uid! }, "FAILED_PRECONDITION");
  const violations = status?.details.flatMap((detail) => (detail.violations ?? []) as JsonObject[]);
  target.results.compare(
    "delete/not-empty",
    "DeleteGroup",
    violations?.map(({ type }) => type),
    ["RESOURCE_NOT_EMPTY"],
  );
  await target.refused("create/duplicate", "CreateRepo", { parent: uid!, repo }, "ALREADY_EXISTS");
}

/** The fields of `like` that the server answers; of messages in it too. */
function selected(json: JsonObject, like: JsonObject, schema: DescMessage): JsonObject {
  const fields = schema.fields.filter(
    (field) => field.jsonName in like && !hasBehavior(field, FieldBehavior.INPUT_ONLY),
  );
  return Object.fromEntries(fields.map((field) => [field.jsonName, selectedValue(json, like, field)]));
}

function selectedValue(json: JsonObject, like: JsonObject, field: DescField): JsonValue {
  const value = json[field.jsonName] ?? null;
  if (field.fieldKind !== "message" || value === null) return value;
  return selected(value as JsonObject, like[field.jsonName] as JsonObject, field.message);
}

/** Secrets are answered by Create alone. */
function withoutSecrets(schema: DescMessage, json: JsonObject): JsonObject {
  const secrets = new Set(
    schema.fields.filter(({ proto }) => proto.options?.debugRedact).map(({ jsonName }) => jsonName),
  );
  return Object.fromEntries(Object.entries(json).filter(([name]) => !secrets.has(name)));
}
