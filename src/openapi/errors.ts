/** The body of errors. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { ErrorShape } from "../rest/index.ts";
import type { Reference, Schema } from "./document.ts";
import type { Schemas } from "./schemas.ts";

/** The schema of errors of a shape, with details of these types. */
export function errorSchema(schemas: Schemas, details: readonly DescMessage[], shape: ErrorShape): Schema {
  if (typeof shape === "function") return {};
  const message = { type: "string", description: "What is wrong, in English." };
  const list = { type: "array", description: "Typed details.", items: detailSchema(schemas, details) };
  if (shape === "flat")
    return schemas.add("Status", {
      type: "object",
      title: "Status",
      description: "An error, as `google.rpc.Status`.",
      required: ["code", "message", "details"],
      properties: {
        code: { type: "integer", format: "int32", description: "The code, a number of `google.rpc.Code`." },
        message,
        details: list,
      },
    });
  const code = { type: "integer", format: "int32", description: "The HTTP status." };
  const status = { type: "string", description: "The code, a name of `google.rpc.Code`." };
  return schemas.add("Error", {
    type: "object",
    title: "Error",
    description: "An error, as AIP-193 shows it.",
    required: ["error"],
    properties: {
      error: {
        type: "object",
        required: ["code", "message", "status", "details"],
        properties: { code, message, status, details: list },
      },
    },
  });
}

/**
 * The schema of a detail: one for each type, distinguished by `@type`, and one for types outside `google`. Each detail
 * has exactly one of them, also for validators that read neither `discriminator` nor `not`.
 */
function detailSchema(schemas: Schemas, details: readonly DescMessage[]): Reference {
  if (details.length === 0) return schemas.add("ErrorDetail", otherDetail("ErrorDetail", "A detail.", undefined));
  const types = details.map((desc): [string, Reference] => {
    if (!desc.typeName.startsWith("google.")) throw new Error(`${desc.typeName} is not a detail of google`);
    const type = `type.googleapis.com/${desc.typeName}`;
    const title = `${desc.name}Detail`;
    const { properties, ...object } = schemas.object(desc, desc.fields, "partial");
    const all = { "@type": { type: "string", const: type }, ...(properties as Schema) };
    return [type, schemas.add(title, { title, ...object, required: ["@type"], properties: all })];
  });
  const other = otherDetail("OtherDetail", "A detail of a type outside `google`.", notOfGoogle);
  return schemas.add("ErrorDetail", {
    title: "ErrorDetail",
    description: "A detail, whose type `@type` names.",
    oneOf: [...types.map(([, schema]) => schema), schemas.add("OtherDetail", other)],
    discriminator: {
      propertyName: "@type",
      mapping: Object.fromEntries(types.map(([type, { $ref }]) => [type, $ref])),
    },
  });
}

/** Type URLs that do not begin with `type.googleapis.com/google.`, without a lookahead, which RE2 lacks. */
const notOfGoogle = "^type\\.googleapis\\.com/(?:[^g]|g[^o]|go[^o]|goo[^g]|goog[^l]|googl[^e]|google[^.])";

function otherDetail(title: string, description: string, pattern: string | undefined): Schema {
  return {
    title,
    type: "object",
    description,
    required: ["@type"],
    properties: { "@type": { type: "string", ...(pattern !== undefined && { pattern }) } },
  };
}
