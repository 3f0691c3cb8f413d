/**
 * Capabilities, from the annotations of the enum. Each has two spellings: `groups.list` in tokens and
 * `CAP_IAM_GROUPS_LIST` in roles. Both are accepted wherever one is read.
 */
import type { DescEnum } from "@bufbuild/protobuf";
import {
  Capability,
  CapabilitySchema,
  capability as capabilityOption,
} from "../../gen/platform/capabilities/capabilities_pb.ts";
import { getOption } from "../annotations.ts";

/** A capability: its two spellings, and whether only holders of `internal` may have it in a role. */
interface CapabilityInfo {
  /** `groups.list`. */
  readonly name: string;
  /** `CAP_IAM_GROUPS_LIST`. */
  readonly enumName: string;
  readonly internal: boolean;
}

/** Every capability by its number. */
export const capabilities = readCapabilities(CapabilitySchema);

/**
 * The capabilities of the enum. Errors: a plain Error if two have one name, or one bit: tokens of the public API name
 * them by either.
 */
export function readCapabilities(schema: DescEnum): ReadonlyMap<Capability, CapabilityInfo> {
  const owners = new Map<string, string>();
  const found = new Map<Capability, CapabilityInfo>();
  for (const value of schema.values) {
    if (value.number === Capability.CAP_UNSPECIFIED) continue;
    const { name, bit, internal } = getOption(value, capabilityOption);
    for (const key of [`name ${JSON.stringify(name)}`, `bit ${bit}`]) {
      const owner = owners.get(key);
      if (owner !== undefined) throw new Error(`${value.name} in ${schema.file.name}.proto has the ${key} of ${owner}`);
      owners.set(key, value.name);
    }
    found.set(value.number as Capability, { name, enumName: value.name, internal });
  }
  return found;
}

/** Every capability by either spelling. */
export const capabilitiesByName: ReadonlyMap<string, Capability> = new Map(
  [...capabilities].flatMap(([number, { name, enumName }]): [string, Capability][] => [
    [name, number],
    [enumName, number],
  ]),
);

/** The capability with that name. Errors: a plain Error when there is none, which is a bug. */
export function capabilityNamed(name: string): Capability {
  const capability = capabilitiesByName.get(name);
  if (capability === undefined)
    throw new Error(`no capability is named ${name}; or was \`npm run generate\` forgotten?`);
  return capability;
}

/** Capabilities in the spelling of roles, for texts: `CAP_IAM_GROUPS_LIST, CAP_REPO_LIST`. */
export function capabilityList(list: readonly Capability[]): string {
  return list.map((capability) => capabilities.get(capability)?.enumName ?? `capability ${capability}`).join(", ");
}

/** The dotted name of a capability, or its number in words if this server does not know it. */
export function capabilityName(capability: Capability): string {
  return capabilities.get(capability)?.name ?? `capability ${capability}`;
}
