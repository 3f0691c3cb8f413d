/** Path templates as OpenAPI has them: one parameter for each variable, and one path for each shape. */
import type { DescField } from "@bufbuild/protobuf";
import type { Binding } from "../rest/index.ts";

/** A variable part of a path. */
export interface PathParameter {
  readonly name: string;
  /** The field that it fills, alone or with literal segments around it; undefined for a wildcard outside a variable. */
  readonly field: DescField | undefined;
  /** The value of the field, when it is more than the parameter: `shelves/{shelf}`. */
  readonly value: string | undefined;
  /** Whether it may hold several segments. */
  readonly isMultiSegment: boolean;
}

/** A binding, with its path in OpenAPI. */
export interface BoundPath {
  readonly binding: Binding;
  /** `/registry/v2/repos/{uid}/readme`. */
  readonly path: string;
  readonly parameters: readonly PathParameter[];
}

/**
 * The paths of bindings. Templates that differ only in the names of their variables are one path in OpenAPI: its
 * parameters have the names of the binding that reads, or else of the first.
 */
export function pathsOf(bindings: readonly Binding[]): BoundPath[] {
  const drafts = bindings.map((binding) => ({ binding, parts: partsOf(binding) }));
  const names = new Map<string, readonly string[]>();
  const ranked = drafts.toSorted((a, b) => Number(isRead(b.binding)) - Number(isRead(a.binding)));
  for (const { binding, parts } of ranked) {
    const shape = shapeOf(binding, parts);
    if (!names.has(shape)) names.set(shape, distinct(parameterNames(parts)));
  }
  return drafts.map(({ binding, parts }) => {
    const chosen = [...names.get(shapeOf(binding, parts))!];
    const parameters: PathParameter[] = [];
    const segments = parts.map((part) => {
      if (typeof part === "string") return part;
      const name = chosen.shift()!;
      parameters.push({ ...part, name, value: part.value?.replace("{}", `{${name}}`) });
      return `{${name}}`;
    });
    return { binding, path: `/${segments.join("/")}${verbOf(binding)}`, parameters };
  });
}

/** A literal segment, or a variable part. */
type Part = string | PathParameter;

function partsOf({ template, variables }: Binding): Part[] {
  return template.segments.map((segment, i): Part => {
    if (segment.kind === "literal") return segment.text;
    const isMultiSegment = segment.kind === "**";
    const variable = variables.find(({ start, end }) => start <= i && i < end);
    if (variable === undefined) return { name: "segment", field: undefined, value: undefined, isMultiSegment };
    const field = variable.path.at(-1)!;
    const segments = template.segments.slice(variable.start, variable.end);
    const isWhole = segments.length === 1;
    const texts = segments.map((each, at) =>
      each.kind === "literal" ? each.text : at + variable.start === i ? "{}" : "*",
    );
    return { name: field.name, field, value: isWhole ? undefined : texts.join("/"), isMultiSegment };
  });
}

function parameterNames(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (typeof part === "string" ? [] : [part.name]));
}

/** The names, a repeated one with its number. */
function distinct(names: readonly string[]): string[] {
  return names.map((name, i) => {
    const earlier = names.slice(0, i).filter((other) => other === name).length;
    return earlier === 0 ? name : `${name}_${earlier + 1}`;
  });
}

function shapeOf(binding: Binding, parts: readonly Part[]): string {
  return parts.map((part) => (typeof part === "string" ? part : "{}")).join("/") + verbOf(binding);
}

function verbOf({ template: { verb } }: Binding): string {
  return verb === undefined ? "" : `:${verb}`;
}

function isRead({ httpMethod }: Binding): boolean {
  return httpMethod === "GET" || httpMethod === "DELETE";
}
