/** The value rules that the reader of JSON keeps or names itself. */
import type { DescField } from "@bufbuild/protobuf";
import { field as fieldOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { getOption } from "../../annotations.ts";
import type { FieldLimits } from "../../codec/index.ts";

/** The limits that the value rules of a field set. */
export function ruledLimits(field: DescField): FieldLimits {
  const { type } = getOption(field, fieldOption);
  switch (type.case) {
    case "repeated":
      return { maxSize: limitOf(type.value.maxItems) };
    case "map":
      return { maxSize: limitOf(type.value.maxPairs) };
    case "int32":
    case "int64": {
      const { greaterThan } = type.value;
      if (greaterThan.case === undefined) return {};
      return { least: BigInt(greaterThan.value) + (greaterThan.case === "gt" ? 1n : 0n) };
    }
    default:
      return {};
  }
}

function limitOf(max: bigint): number | undefined {
  return max === 0n ? undefined : Number(max);
}
