/** What descriptors say by their annotations and names: options, and standard methods (AIP-130). */
import { type DescMessage, type DescMethod, getOption as decodeOption, hasOption } from "@bufbuild/protobuf";
import { resource } from "../gen/google/api/resource_pb.ts";

/** The values of one option: of the descriptors that have it, and the one of all others. */
class Values {
  readonly set = new WeakMap<object, unknown>();
  unset: { readonly value: unknown } | undefined;
}

const known = new WeakMap<object, Values>();

/**
 * As the library's function of this name, which decodes an option each time, with code that it compiles for that. Here
 * it is decoded once. What is returned is shared: nobody changes it.
 */
export const getOption: typeof decodeOption = (element, option) => {
  type Value = ReturnType<typeof decodeOption<typeof option, typeof element>>;
  const values = known.get(option) ?? new Values();
  known.set(option, values);
  if (!hasOption(element, option)) {
    values.unset ??= { value: decodeOption(element, option) };
    return values.unset.value as Value;
  }
  if (!values.set.has(element)) values.set.set(element, decodeOption(element, option));
  return values.set.get(element) as Value;
};

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

/**
 * The standard method that a method is, by its name and its output: `ListRepos` is the List of the resource `Repo`.
 * Undefined for a custom method (AIP-136).
 */
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
