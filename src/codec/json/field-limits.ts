/** Limits of fields that are known from elsewhere than the descriptors that this module reads. */
import type { DescField } from "@bufbuild/protobuf";

/** Limits of one field. */
export interface FieldLimits {
  /** The most items of a list or entries of a map. Longer ones are refused without being read. */
  readonly maxSize?: number | undefined;
  /** The least integer, to be named in violations. It is not checked. */
  readonly least?: bigint | undefined;
}

/** Finds the limits of a field. */
type LimitSource = (field: DescField) => FieldLimits;

const none: FieldLimits = {};
let limits: LimitSource = () => none;

/** Sets where limits are known from, for the readers that are created from now on. */
export function useFieldLimits(limitsOf: LimitSource): void {
  limits = limitsOf;
}

/** Where limits are known from now. */
export function limitSource(): LimitSource {
  return limits;
}

/** The limits of a field. */
export function fieldLimits(field: DescField): FieldLimits {
  return limits(field);
}
