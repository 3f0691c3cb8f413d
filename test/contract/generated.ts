/** The contract as it is generated: every file of `gen/platform`, whether the server knows it or not. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { DescFile, DescService } from "@bufbuild/protobuf";
import { notServed } from "../../src/services/index.ts";

const folder = join(import.meta.dirname, "../../gen/platform");

const modules: Record<string, DescFile>[] = await Promise.all(
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("_pb.ts"))
    .sort()
    .map((path) => import(join(folder, path))),
);

/** Every service of the contract. */
export const generatedServices: readonly DescService[] = modules
  .flatMap((module) => Object.values(module))
  .flatMap((each) => (each.kind === "file" ? each.services : []));

/** Those that the server mounts. */
export const servedServices = generatedServices.filter(({ typeName }) => !notServed.has(typeName));
