import type { DescEnum } from "@bufbuild/protobuf";
import { shortName } from "../../src/remote/catalog/enums.ts";
import { capabilityLabel } from "./access/capabilities.ts";
import { title } from "./contract.ts";

/** A value of an enum as people read it: `Customer` for `ORG_KIND_CUSTOMER`, `repo.list` for `CAP_REPO_LIST`. */
export function enumLabel(type: DescEnum, name: string): string {
  return type.typeName === "platform.capabilities.Capability" ? capabilityLabel(name) : title(shortName(type, name));
}
