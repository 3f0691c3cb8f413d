/** Field masks of updates, tried on a repo. */
import type { JsonObject } from "@bufbuild/protobuf";
import { freshName } from "./server/uids.ts";
import type { Target } from "./target.ts";

const first = { description: "first", bundles: ["base"], aliases: ["a:b"] };

/** Checks what updates with masks change. */
export async function checkMasks(target: Target, parent: string): Promise<void> {
  await checkOnlyNamed(target, parent);
  await checkStar(target, parent);
  await checkNoOp(target, parent);
  const { uid } = await makeRepo(target, parent);
  for (const updateMask of ["nothing", "description,nothing.below"])
    await target.refusedField("masks/unknown-path", "UpdateRepo", { repo: { uid }, updateMask }, "update_mask");
}

async function makeRepo(target: Target, parent: string): Promise<JsonObject & { uid: string }> {
  const repo = { name: freshName(), ...first };
  return (await target.make("CreateRepo", { parent, repo })) as JsonObject & { uid: string };
}

/** What an update with a mask makes of a repo, over every protocol. */
async function checkOnlyNamed(target: Target, parent: string): Promise<void> {
  const before = await makeRepo(target, parent);
  const repo = { uid: before.uid, description: "second", bundles: ["fips"] };
  await target.call("masks/only-named", "UpdateRepo", { repo, updateMask: "description" });
  await compareRepo(target, "masks/only-named", before, { description: "second" });
  await target.call("masks/only-named", "UpdateRepo", { repo: { uid: before.uid }, updateMask: "aliases" });
  await compareRepo(target, "masks/only-named", before, { description: "second", aliases: [] });
}

async function checkStar(target: Target, parent: string): Promise<void> {
  const before = await makeRepo(target, parent);
  const repo = { uid: before.uid, name: freshName() };
  await target.call("masks/star", "UpdateRepo", { repo, updateMask: "*" });
  await compareRepo(target, "masks/star", before, { name: repo.name, description: "", bundles: [], aliases: [] });
}

async function checkNoOp(target: Target, parent: string): Promise<void> {
  const before = await makeRepo(target, parent);
  const repo = { uid: before.uid, description: first.description };
  await target.call("masks/no-op", "UpdateRepo", { repo, updateMask: "description" });
  const after = await target.answer("masks/no-op", "GetRepo", { uid: before.uid });
  target.results.compare("masks/no-op", "UpdateRepo", after, before);
}

/** Compares a repo with what it was, but for some fields. */
async function compareRepo(
  target: Target,
  rule: "masks/only-named" | "masks/star",
  before: JsonObject & { uid: string },
  changes: JsonObject,
): Promise<void> {
  const after = await target.answer(rule, "GetRepo", { uid: before.uid });
  const { updateTime = null, etag = null } = after ?? {};
  target.results.compare(rule, "UpdateRepo", after, { ...before, ...changes, updateTime, etag });
}
