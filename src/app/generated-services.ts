/** The services of the contract, whether the server mounts them or not. */
import { readFile } from "node:fs/promises";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { packageFile } from "../package-file.ts";

/** The full names of every service of the platform. */
export async function generatedServices(): Promise<readonly string[]> {
  const { file } = fromBinary(FileDescriptorSetSchema, await readFile(packageFile("gen/contract.binpb")));
  return file
    .filter(({ name }) => name.startsWith("platform/"))
    .flatMap((each) => each.service.map(({ name }) => `${each.package}.${name}`));
}
