/** Every message type to try the codecs on: those that show the rules, and those of the contract. */
import { readdirSync } from "node:fs";
import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { desc } from "../rest/fixture.ts";
import { wireFiles } from "./wire-fixture.ts";

const contract = await Promise.all(
  readdirSync(new URL("../../gen", import.meta.url), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("_pb.ts"))
    .map(async (path) => {
      const module: Record<string, unknown> = await import(new URL(`../../gen/${path}`, import.meta.url).href);
      return Object.entries(module).find(([name]) => name.startsWith("file_"))?.[1] as DescFile;
    }),
);

const messagesOf = (files: readonly DescFile[]): DescMessage[] =>
  files.flatMap((file) => [...nestedTypes(file)]).filter((type) => type.kind === "message");

/** Types with the rules of proto2, proto3 and editions. */
export const ruleTypes = messagesOf([...wireFiles.files, FileDescriptorSetSchema.file, desc("Everything").file]);

/** Every message of the contract. */
export const contractTypes = messagesOf(contract);
