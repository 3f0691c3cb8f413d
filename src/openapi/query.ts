/** Query parameters: the fields of a request that neither the path nor the body has. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { hasCustomJson } from "../codec/index.ts";
import type { Binding } from "../rest/index.ts";
import type { Parameter, Schema } from "./document.ts";
import { paragraphs, type Schemas } from "./schemas.ts";

/** What fits into the target of a request: bytes, and items of a list. */
export interface TargetLimits {
  readonly maxBytes: number;
  readonly maxItems: number;
}

/** The parameters of a binding, named as in the proto files. */
export function queryParameters(
  { method, body, variables }: Binding,
  schemas: Schemas,
  limits: TargetLimits | undefined,
): Parameter[] {
  if (body === "*") return [];
  const taken = new Set(variables.map(({ fieldPath }) => fieldPath));
  const parameters: Parameter[] = [];

  const visit = (desc: DescMessage, prefix: string, outer: readonly DescMessage[], note: string) => {
    for (const field of desc.fields) {
      const path = prefix + field.name;
      if (taken.has(path) || field === body) continue;
      const { fieldKind, message } = field;
      if (fieldKind === "message" && message !== undefined && !hasCustomJson(message)) {
        if (!outer.includes(message)) {
          const { description } = schemas.field(field, "input");
          visit(message, `${path}.`, [...outer, message], paragraphs(note, (description as string | undefined) ?? ""));
        }
      } else if (isText(field)) parameters.push(parameterOf(field, path, note));
    }
  };

  function parameterOf(field: DescField, name: string, note: string): Parameter {
    const { description, ...schema } = schemas.field(field, "input");
    const text = paragraphs((description as string | undefined) ?? "", name.includes(".") ? note : "");
    const isRequired = !name.includes(".") && schemas.isRequired(field);
    return {
      name,
      in: "query",
      ...(text !== "" && { description: text }),
      ...(isRequired && { required: true }),
      ...(field.fieldKind === "map" && { style: "deepObject", explode: true }),
      schema: limits === undefined ? schema : withinTarget(schema, limits),
    };
  }

  visit(method.input, "", [method.input], "");
  return parameters;
}

/** The schema of a parameter, with the limits of the target of a request where its own are higher. */
function withinTarget(schema: Schema, { maxBytes, maxItems }: TargetLimits): Schema {
  const limited = { maxLength: maxBytes, maxItems };
  const exceeded = Object.entries(limited).filter(([keyword, limit]) => (schema[keyword] as number) > limit);
  return { ...schema, ...Object.fromEntries(exceeded) };
}

/** Whether a value of the field can be given as text. */
function isText({ message }: DescField): boolean {
  if (message === undefined) return true;
  return hasCustomJson(message) && !["Any", "Struct", "Value", "ListValue"].some((name) => message.name === name);
}
