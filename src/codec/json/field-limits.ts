/** Limits of fields that are known from elsewhere than the descriptors that this module reads. */
import type { DescField } from "@bufbuild/protobuf";

/** Limits of one field. */
export interface FieldLimits {
  /** The most items of a list or entries of a map. Longer ones are refused without being read. */
  readonly maxSize?: number | undefined;
  /** The least integer, to be named in violations. It is not checked. */
  readonly least?: bigint | undefined;
}

const none: FieldLimits = {};
let limits: (field: DescField) => FieldLimits = () => none;

/** Sets where limits are known from. To be called before a reader is created. */
export function useFieldLimits(limitsOf: (field: DescField) => FieldLimits): void {
  limits = limitsOf;
}

/** The limits of a field. */
export function fieldLimits(field: DescField): FieldLimits {
  return limits(field);
}
