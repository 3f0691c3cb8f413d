/** The contract of the server, read while the console runs: a resource that is added to it needs no code here. */
import {
  createFileRegistry,
  type DescField,
  type DescMethod,
  type FileRegistry,
  fromBinary,
  getOption,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createContext, use } from "react";
import contractUrl from "../../gen/contract.binpb?url";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { resource_reference } from "../../gen/google/api/resource_pb.ts";
import { type ResourceEntry, readCatalog } from "../../src/remote/catalog/resources.ts";

/** The resources of a part of the API. */
export interface Domain {
  /** `IAM`. */
  readonly title: string;
  /** Those that can be listed. */
  readonly resources: readonly ResourceEntry[];
}

/** What the console knows about the API. */
export interface Contract {
  readonly registry: FileRegistry;
  readonly domains: readonly Domain[];
  /** The resource with a plural name: `role-bindings`. */
  readonly byPlural: ReadonlyMap<string, ResourceEntry>;
  /** The resource of a type: `iam.platform.internal/Role`. */
  readonly byType: ReadonlyMap<string, ResourceEntry>;
}

/** Loads the contract of the server that the console came with. Errors: those of fetch. */
export async function loadContract(): Promise<Contract> {
  const response = await fetch(contractUrl);
  if (!response.ok) throw new Error(`the contract is not served: status ${response.status}`);
  const set = fromBinary(FileDescriptorSetSchema, new Uint8Array(await response.arrayBuffer()));
  const registry = createFileRegistry(set);
  const { resources } = readCatalog([...registry].filter((type) => type.kind === "service"));
  const domains = Map.groupBy(
    resources.filter(({ methods }) => methods.List !== undefined),
    ({ schema }) => schema.file.proto.package.split(".").at(-2)!,
  );
  return {
    registry,
    domains: [...domains].sort().map(([name, entries]) => ({ title: domainTitle(name), resources: entries })),
    byPlural: new Map(resources.map((entry) => [entry.plural, entry])),
    byType: new Map(resources.map((entry) => [entry.type, entry])),
  };
}

/** The contract, for the components of the console. */
export const ContractContext = createContext<Contract | undefined>(undefined);

/** The contract. */
export function useContract(): Contract {
  return use(ContractContext)!;
}

/** A method by the full name of its service and its own local name: `listAccess`. */
export function useMethod(service: string, name: string): DescMethod {
  return useContract().registry.getService(service)!.method[name]!;
}

/** `Role bindings` for `role-bindings`, `create_time` and `createTime`. */
export function title(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[-_]/g, " ")
    .toLowerCase()
    .replace(/\b(id|oidc|uid|url|cves|ttl)\b/g, (word) => word.toUpperCase());
  return word(words);
}

/** `repo` for the entry of Repo, as it is read in a sentence. */
export function singularOf({ singular }: ResourceEntry): string {
  return title(singular).toLowerCase();
}

/** Whether a field has a behaviour that its annotation names. */
export function behaves(field: DescField, behavior: FieldBehavior): boolean {
  return getOption(field, field_behavior).includes(behavior);
}

export { FieldBehavior };

/** The type of the resource that a field holds the uid of; undefined for any other field. */
export function referenceType(field: DescField): string | undefined {
  return getOption(field, resource_reference).type || undefined;
}

/** The field that people know a resource by; undefined if it has none but its uid. */
export function nameField({ schema, singular }: ResourceEntry): DescField | undefined {
  const names = ["name", "id", `${singular.replaceAll("-", "_")}_id`];
  return names.map((name) => schema.fields.find((field) => field.name === name)).find((field) => field !== undefined);
}

function domainTitle(name: string): string {
  return name.length <= 3 ? name.toUpperCase() : word(name);
}

function word(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
