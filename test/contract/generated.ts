/** The contract as it is generated: every file of `gen/platform`, whether the server knows it or not. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { DescFile, DescMessage, DescService } from "@bufbuild/protobuf";
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

const packages = new Set(generatedServices.map(({ file }) => file.proto.package));

/** Whether a service or message is of v1 of the API. Services of a domain without a v2 belong to v2. */
export function isOfV1({ file }: Pick<DescService, "file">): boolean {
  const { package: name } = file.proto;
  return name.endsWith(".v1") && packages.has(name.replace(/1$/, "2"));
}

/** The messages of the contract among these and in their fields. */
export function messagesIn(roots: Iterable<DescMessage>): ReadonlySet<DescMessage> {
  const found = new Set<DescMessage>();
  const visit = (desc: DescMessage) => {
    if (found.has(desc) || !desc.typeName.startsWith("platform.")) return;
    found.add(desc);
    for (const { message } of desc.fields) if (message !== undefined) visit(message);
  };
  for (const root of roots) visit(root);
  return found;
}

/** Where something is declared, for messages of tests: `proto/platform/iam/v2/roles.proto`. */
export function protoFile({ file }: { readonly file: DescFile }): string {
  return `proto/${file.name}.proto`;
}
