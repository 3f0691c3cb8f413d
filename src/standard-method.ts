/** Standard methods (AIP-130): `ListRepos` is the List of the resource `Repo`. */
import { type DescMessage, type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { resource } from "../gen/google/api/resource_pb.ts";

/** A standard method, or one of the batch methods of AIP-231 to AIP-235. */
export interface StandardMethod {
  readonly verb:
    | "Get"
    | "List"
    | "Create"
    | "Update"
    | "Delete"
    | "BatchGet"
    | "BatchCreate"
    | "BatchUpdate"
    | "BatchDelete";
  /** The kind of resource: `Repo`. */
  readonly kind: string;
}

const shape = /^((?:Batch)?(?:Get|Create|Update|Delete)|List)([A-Z].*)$/;

/** The standard method that a method is, by its name and its output; undefined for a custom method (AIP-136). */
export function standardMethodOf({ name, output }: DescMethod): StandardMethod | undefined {
  const [, verb, noun = ""] = shape.exec(name) ?? [];
  const kind =
    verb === "Delete"
      ? noun
      : verb === "Get" || verb === "Create" || verb === "Update"
        ? kindOf(output, noun, "singular")
        : output.fields.flatMap(({ fieldKind, message }) =>
            fieldKind === "list" && message !== undefined ? (kindOf(message, noun, "plural") ?? []) : [],
          )[0];
  return verb === undefined || kind === undefined ? undefined : { verb: verb as StandardMethod["verb"], kind };
}

/** The kind of a resource's message, if `noun` names it. */
function kindOf(message: DescMessage, noun: string, number: "singular" | "plural"): string | undefined {
  if (!hasOption(message, resource)) return undefined;
  const { type, plural } = getOption(message, resource);
  const [, kind = ""] = type.split("/");
  return noun.toLowerCase() === (number === "plural" ? plural : kind).toLowerCase() ? kind : undefined;
}
