/**
 * The contract of the served services as tests read it: methods by name, and how JSON names relate to proto names. Only
 * descriptors, nothing of the server.
 */
import { type DescMethodUnary, getOption } from "@bufbuild/protobuf";
import { iam, iam_scope } from "../../gen/platform/annotations/annotations_pb.ts";
import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { isOfV1 as isServiceOfV1, servedServices } from "../contract/generated.ts";

/** A message in its JSON form, as a client writes and reads it. */
// biome-ignore lint/suspicious/noExplicitAny: tests read answers the way a client without types does
export type Json = any;

const served = servedServices.flatMap((service) => service.methods.map((method) => method as DescMethodUnary));
const isOfV1 = ({ parent }: DescMethodUnary) => isServiceOfV1(parent);

/** The name of a method, unique across services: `CreateGroup`, and in v1 `v1.Groups.Create`. */
export function nameOf(method: DescMethodUnary): string {
  return isOfV1(method) ? `v1.${method.parent.name}.${method.name}` : method.name;
}

/** Every method that is served, by its name. */
export const allMethods: ReadonlyMap<string, DescMethodUnary> = new Map(
  served.map((method) => [nameOf(method), method]),
);
if (allMethods.size !== served.length) throw new Error("two methods of the contract have one name");

/** Those of v2. */
export const methods: ReadonlyMap<string, DescMethodUnary> = new Map(
  [...allMethods].filter(([, method]) => !isOfV1(method)),
);

/** Those of v1. */
export const methodsOfV1: ReadonlyMap<string, DescMethodUnary> = new Map(
  [...allMethods].filter(([, method]) => isOfV1(method)),
);

/** The method of that name. */
export function methodNamed(name: string): DescMethodUnary {
  const method = allMethods.get(name);
  if (method === undefined) throw new Error(`the contract has no method ${name}`);
  return method;
}

/** `iam` of `platform.iam.v2`. */
export function domainOf(method: DescMethodUnary): string {
  return method.parent.typeName.split(".")[1]!;
}

/** Who may call a method, as annotated. */
export function ruleOf(method: DescMethodUnary): { open: boolean; unscoped: boolean; capabilities: Capability[] } {
  const { rule } = getOption(method, iam);
  if (rule.case !== "enabled") return { open: true, unscoped: true, capabilities: [] };
  return { open: false, unscoped: rule.value.unscoped, capabilities: rule.value.capabilities };
}

/** Where a scoped method names its uid, as JSON path: `["uid"]`, `["repo", "uid"]`. */
export function scopePathOf(method: DescMethodUnary): string[] | undefined {
  const field = method.input.fields.find((candidate) => getOption(candidate, iam_scope));
  if (field === undefined) return undefined;
  return field.fieldKind === "message" ? [field.jsonName, "uid"] : [field.jsonName];
}

/** `update_mask` → `updateMask`, per segment of a path. */
export function camelCase(path: string): string {
  return path.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** `updateMask` → `update_mask`, per segment of a path. */
export function snakeCase(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
