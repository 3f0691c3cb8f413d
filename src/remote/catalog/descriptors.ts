/** The descriptors of the contract, with their comments, read from one file: it is faster than generated code. */
import { readFileSync } from "node:fs";
import { createFileRegistry, type DescService, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { packageFile } from "../../package-file.ts";

let registry: FileRegistry | undefined;

/** Every file of the contract with what it imports. Options are read with `getOption` and the generated extensions. */
export function contractRegistry(): FileRegistry {
  registry ??= createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(packageFile("gen/contract.binpb"))));
  return registry;
}

/** Every service of the contract, of every version. */
export function contractServices(): DescService[] {
  return [...contractRegistry()].filter((type) => type.kind === "service");
}
