/** Capabilities as the enum's annotations describe them. */
import { getOption } from "@bufbuild/protobuf";
import {
  Capability,
  CapabilitySchema,
  capability as capabilityOption,
} from "../../gen/platform/capabilities/capabilities_pb.ts";

/** One capability: its dotted name (`groups.list`) and whether only holders of `internal` may have it in a role. */
export interface CapabilityInfo {
  readonly name: string;
  readonly internal: boolean;
}

/** Every capability by its number. */
export const capabilities: ReadonlyMap<Capability, CapabilityInfo> = new Map(
  CapabilitySchema.values.flatMap((value) => {
    if (value.number === Capability.CAP_UNSPECIFIED) return [];
    const { name, internal } = getOption(value, capabilityOption);
    return [[value.number as Capability, { name, internal }]];
  }),
);

const byName = new Map([...capabilities].map(([number, { name }]) => [name, number]));

/** The capability with that dotted name; a name that no capability has is a mistake of the program. */
export function capabilityNamed(name: string): Capability {
  const capability = byName.get(name);
  if (capability === undefined) throw new Error(`no capability is named ${name}`);
  return capability;
}

/** A capability's dotted name; its number in words where this server does not know it. */
export function capabilityName(capability: Capability): string {
  return capabilities.get(capability)?.name ?? `capability ${capability}`;
}
