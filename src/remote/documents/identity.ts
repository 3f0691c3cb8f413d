/** What distinguishes the resources of one parent. */
import type { DescField } from "@bufbuild/protobuf";
import { FieldBehavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { resource_reference } from "../../../gen/google/api/resource_pb.ts";
import { getOption } from "../../annotations.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import { hasBehavior } from "./spec.ts";

/** The fields that distinguish resources of one parent: the name or, without names, all that are required or fixed. */
export function identityFields({ schema }: ResourceEntry): readonly DescField[] {
  const { name } = schema.field;
  if (name !== undefined) return [name];
  const identifies = [FieldBehavior.REQUIRED, FieldBehavior.IMMUTABLE];
  const hidden = [FieldBehavior.INPUT_ONLY, FieldBehavior.OUTPUT_ONLY];
  return schema.fields.filter(
    (field) =>
      identifies.some((behavior) => hasBehavior(field, behavior)) &&
      !hidden.some((behavior) => hasBehavior(field, behavior)),
  );
}

/** Whether there is one such resource for each parent, whose uid it has (AIP-156). */
export function isSingleton(resource: ResourceEntry): boolean {
  const type = parentField(resource)?.type;
  return resource.methods.Create === undefined && type !== undefined && type !== resource.type;
}

/** The field of a request that names the parent of a resource, and the type of the parent; "" for any. */
export function parentField({ methods: { Create, Get } }: ResourceEntry) {
  const field = Create === undefined ? Get?.input.field.uid : Create.input.field.parent;
  return field && { field, type: getOption(field, resource_reference).type };
}
