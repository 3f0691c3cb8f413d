// Writes `gen/contract.binpb`: the descriptors of every proto file of the contract with what they import, and of the
// comments only those of the contract itself. Programs that know no generated code read it: the command line.
// Usage: node proto/descriptors.mjs FOLDER
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const image = execFileSync("buf", ["build", "proto", "--as-file-descriptor-set", "--output", "-#format=binpb"], {
  maxBuffer: 2 ** 26,
});
const set = fromBinary(FileDescriptorSetSchema, image);
for (const file of set.file) {
  const locations = file.sourceCodeInfo?.location.filter(({ leadingComments }) => leadingComments) ?? [];
  for (const location of locations) location.span = [];
  file.sourceCodeInfo = undefined;
  if (file.name.startsWith("platform/"))
    file.sourceCodeInfo = { $typeName: "google.protobuf.SourceCodeInfo", location: locations };
}
writeFileSync(join(process.argv[2], "contract.binpb"), toBinary(FileDescriptorSetSchema, set));
