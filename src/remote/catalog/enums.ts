/** Values of enums as people type and read them. */
import type { DescEnum } from "@bufbuild/protobuf";
import { kebab } from "./resources.ts";

/** `customer` for `ORG_KIND_CUSTOMER` of OrgKind. */
export function shortName({ sharedPrefix = "" }: DescEnum, name: string): string {
  const prefix = sharedPrefix.toUpperCase();
  return kebab(name.startsWith(prefix) ? name.slice(prefix.length) : name);
}

/** The short names of all values but the unspecified one. */
export function shortNames(type: DescEnum): string[] {
  return type.values.filter(({ number }) => number !== 0).map(({ name }) => shortName(type, name));
}
