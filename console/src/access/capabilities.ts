/** Capabilities by the names that people read: `repo.list`. */
import { getOption } from "@bufbuild/protobuf";
import { CapabilitySchema, capability } from "../../../gen/platform/capabilities/capabilities_pb.ts";

/** A capability that roles of organisations can have. */
interface NamedCapability {
  /** `CAP_REPO_LIST`. */
  readonly value: string;
  /** `repo.list`. */
  readonly label: string;
}

/** All of them, by name. */
export const namedCapabilities: readonly NamedCapability[] = CapabilitySchema.values
  .filter((value) => value.number !== 0 && !getOption(value, capability).internal)
  .map((value) => ({ value: value.name, label: getOption(value, capability).name }))
  .sort((a, b) => (a.label < b.label ? -1 : 1));

const labels = new Map(namedCapabilities.map(({ value, label }) => [value, label]));

/** `repo.list` for `CAP_REPO_LIST`; an unknown one as it is. */
export function capabilityLabel(value: string): string {
  return labels.get(value) ?? value;
}
