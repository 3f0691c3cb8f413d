/** The types of wire2.proto and wire2023.proto. */
import { readFileSync } from "node:fs";
import { createFileRegistry, type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const set = fromBinary(FileDescriptorSetSchema, readFileSync(new URL("wire.binpb", import.meta.url)));

/** Both files. */
export const wireFiles = createFileRegistry(set);

/** A message type, by its full name. */
export function wireType(name: string): DescMessage {
  const found = wireFiles.getMessage(name);
  if (found === undefined) throw new Error(`no message ${name}`);
  return found;
}
