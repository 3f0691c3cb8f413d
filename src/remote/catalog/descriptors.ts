/** The descriptors of the contract, with their comments, read from one file: it is faster than generated code. */
import { existsSync, readFileSync } from "node:fs";
import { createFileRegistry, type DescService, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

let registry: FileRegistry | undefined;

/** Every file of the contract with what it imports. Options are read with `getOption` and the generated extensions. */
export function contractRegistry(): FileRegistry {
  registry ??= createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(descriptorFile())));
  return registry;
}

/** Every service of the contract, of every version. */
export function contractServices(): DescService[] {
  return [...contractRegistry()].filter((type) => type.kind === "service");
}

/** It is in `gen`, which is beside `src` in a checkout and beside `dist` in an installed package. */
function descriptorFile(): URL {
  const files = ["../../../gen/contract.binpb", "../../../../gen/contract.binpb"];
  return files.map((path) => new URL(path, import.meta.url)).find((file) => existsSync(file))!;
}
