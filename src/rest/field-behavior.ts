/** The `google.api.field_behavior` annotation (AIP-203), as far as the path of a request needs it. */
import { type DescField, getOption } from "@bufbuild/protobuf";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";

/** Whether a request is invalid without the field. */
export function isRequired(field: DescField): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}
