/** The values of JSON that scalars and the types of google.protobuf are. */
import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { Json, Schema } from "./document.ts";

/** The schema of a scalar. */
export function scalarSchema(type: ScalarType): Schema {
  switch (type) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return { type: "number", format: type === ScalarType.FLOAT ? "float" : "double" };
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return { type: "integer", format: "int32" };
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: "integer", format: "int64", minimum: 0, maximum: 4_294_967_295 };
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: "string", format: "uint64", pattern: "^[0-9]+$" };
    default:
      return { type: "string", format: "int64", pattern: "^-?[0-9]+$" };
  }
}

const anyValue: Json = {};

/** The schema of a type of google.protobuf that has its own JSON form. */
export function wellKnownSchema({ typeName, fields }: DescMessage): Schema | undefined {
  if (!typeName.startsWith("google.protobuf.")) return undefined;
  switch (typeName.slice("google.protobuf.".length)) {
    case "Timestamp":
      return { type: "string", format: "date-time" };
    case "Duration":
      return { type: "string", pattern: "^-?[0-9]+(\\.[0-9]{1,9})?s$", examples: ["3600s"] };
    case "FieldMask":
      return { type: "string" };
    case "Empty":
      return { type: "object" };
    case "Struct":
      return { type: "object", additionalProperties: anyValue };
    case "Value":
      return {};
    case "ListValue":
      return { type: "array", items: anyValue };
    case "Any":
      return { type: "object", properties: { "@type": { type: "string" } }, required: ["@type"] };
    default: {
      const [value] = fields;
      const isWrapper = typeName.endsWith("Value") && fields.length === 1 && value?.scalar !== undefined;
      if (!isWrapper) return undefined;
      const { type, ...rest } = scalarSchema(value.scalar);
      return { type: [type as string, "null"], ...rest };
    }
  }
}
