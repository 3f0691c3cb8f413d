import type { DescMethod } from "@bufbuild/protobuf";

/** A method's full name: `platform.registry.v2.ReposService/GetRepo`. */
export function nameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}
