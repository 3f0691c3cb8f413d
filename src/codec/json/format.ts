/** The variants of ProtoJSON that a message can be written in. */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { hasPresence } from "../message-fields.ts";
import { formatExactTimestamp, formatTimestamp, type SecondsAndNanos } from "./text-forms.ts";

/** How messages are written. Without options it is ProtoJSON as its specification has it by default. */
export interface JsonFormat {
  /** Write the fields without presence that are zero, too: numbers, texts, lists and maps; default no. */
  readonly alwaysEmitImplicit?: boolean | undefined;
  /** Write `page_size`, as in the proto file, instead of `pageSize`; default no. */
  readonly useProtoFieldName?: boolean | undefined;
  /** Write enums as numbers; default no. */
  readonly enumAsInteger?: boolean | undefined;
  /**
   * The fraction of seconds of timestamps: as many digits as it needs of 0, 3, 6 and 9, or always 3, cut off; default
   * `exact`.
   */
  readonly timestampPrecision?: "exact" | "milliseconds" | undefined;
}

/** The format of messages in stored form, and of every writer that is not given one. */
export const storedFormat: JsonFormat = { alwaysEmitImplicit: true, timestampPrecision: "milliseconds" };

/** A text that two formats have in common if they write the same. */
export function formatKey(format: JsonFormat): string {
  return [
    format.alwaysEmitImplicit === true,
    format.useProtoFieldName === true,
    format.enumAsInteger === true,
    format.timestampPrecision === "milliseconds",
  ].join();
}

/** The text of a timestamp, without quotation marks. */
export function timestampWriter({ timestampPrecision }: JsonFormat): (value: SecondsAndNanos) => string {
  return timestampPrecision === "milliseconds" ? formatTimestamp : formatExactTimestamp;
}

/** The key of a field in an object. */
export function fieldName({ name, jsonName }: DescField, { useProtoFieldName }: JsonFormat): string {
  return useProtoFieldName === true ? name : jsonName;
}

/** Whether a value of the field is left out; undefined for a field of which the value alone does not decide. */
export function omission(field: DescField, format: JsonFormat): ((value: unknown) => boolean) | undefined {
  return format.alwaysEmitImplicit === true || hasPresence(field) ? undefined : zeroTest(field);
}

function zeroTest(field: DescField): (value: unknown) => boolean {
  switch (field.fieldKind) {
    case "list":
      return (items) => (items as readonly unknown[]).length === 0;
    case "map":
      return (entries) => Object.keys(entries as object).length === 0;
    case "scalar":
      return scalarZeroTest(field.scalar);
    default:
      return (value) => value === 0;
  }
}

function scalarZeroTest(type: ScalarType): (value: unknown) => boolean {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return (value) => (value as string | Uint8Array).length === 0;
    case ScalarType.BOOL:
      return (value) => value === false;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return (value) => value === 0n || value === "0";
    default:
      return (value) => Object.is(value, 0);
  }
}
