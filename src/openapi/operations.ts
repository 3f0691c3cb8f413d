/** Operations: what a binding takes, and what it answers. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { CodeSchema } from "../../gen/google/rpc/code_pb.ts";
import { httpStatusOf } from "../message/index.ts";
import type { Binding } from "../rest/index.ts";
import { requestBody, responseContent } from "./content.ts";
import { type Json, type Operation, type Parameter, type Reference, refTo, type Schema } from "./document.ts";
import type { BoundPath, PathParameter } from "./paths.ts";
import { queryParameters, type TargetLimits } from "./query.ts";
import type { RestForm } from "./rest-form.ts";
import { type CommentOf, paragraphs, type Schemas } from "./schemas.ts";

/** What an API adds to the operations of a method. */
export interface MethodNotes {
  /** A paragraph for the description. */
  readonly description?: string;
  /** `[]` for a method without authentication. */
  readonly security?: Json;
  /** Names of parameters among the components. */
  readonly parameters?: readonly string[];
  /** Codes of errors besides those that the comment of the method names. */
  readonly errors?: readonly Code[];
  /** Headers of the response, by name. */
  readonly responseHeaders?: Json;
  /** Whether a read may answer 304. */
  readonly isConditional?: boolean;
  /** Fields of extensions: `x-capabilities`. */
  readonly extensions?: Readonly<Record<`x-${string}`, Json>>;
}

/** An example of a request and its response. */
export interface Example {
  /** Values of parameters, by name. */
  readonly parameters?: Readonly<Record<string, Json>>;
  readonly body?: Json;
  readonly response?: Json;
}

/** What operations are made from. */
export interface OperationOptions {
  readonly schemas: Schemas;
  readonly commentOf: CommentOf;
  readonly form: RestForm;
  readonly targetLimits: TargetLimits | undefined;
  notesOf(method: DescMethod): MethodNotes;
  /** By operation. */
  readonly examples: Readonly<Record<string, Example>>;
}

/** The tag of a service: its name without `Service`. */
export function tagOf({ name }: DescService): string {
  return name.replace(/(?<=.)Service$/, "");
}

/**
 * The ids of operations: the name of the method, with that of its service where several services have the same, and
 * with the verb or the number of an additional binding.
 */
export function operationIds(bindings: readonly Binding[]): Map<Binding, string> {
  const methods = new Set(bindings.map(({ method }) => method));
  const isShared = (name: string) => [...methods].filter((method) => method.name === name).length > 1;
  const count = new Map<DescMethod, number>();
  return new Map(
    bindings.map((binding) => {
      const { method, template } = binding;
      const name = isShared(method.name) ? `${tagOf(method.parent)}_${method.name}` : method.name;
      const number = (count.get(method) ?? 0) + 1;
      count.set(method, number);
      const suffix = template.verb === undefined ? String(number) : capitalize(template.verb);
      return [binding, number === 1 ? name : name + suffix];
    }),
  );
}

/** The operation of a binding. */
export function operationOf(id: string, { binding, parameters }: BoundPath, options: OperationOptions): Operation {
  const { schemas, commentOf, examples, form } = options;
  const { method } = binding;
  const notes = options.notesOf(method);
  const comment = commentOf(method);
  const [summary = ""] = /^[^\n]*?[.](?=\s|$)/.exec(comment.replaceAll("\n", " ")) ?? [];
  const example = examples[id];
  const all = [
    ...parameters.map((parameter) => pathParameter(parameter, schemas)),
    ...queryParameters(binding, schemas, options.targetLimits),
  ].map((parameter) => withExample(parameter, example));
  const unknown = Object.keys(example?.parameters ?? {}).filter((name) =>
    all.every((parameter) => parameter.name !== name),
  );
  if (unknown.length > 0) throw new Error(`the example of ${id} has unknown parameters: ${unknown.join(", ")}`);
  const body = requestBody(binding, schemas, form, example?.body);
  return {
    operationId: id,
    tags: [tagOf(method.parent)],
    summary: summary.replace(/\.$/, "") || method.name,
    description: paragraphs(comment, notes.description ?? "", `RPC: \`${method.parent.typeName}/${method.name}\`.`),
    ...(notes.security !== undefined && { security: notes.security }),
    ...(method.proto.options?.deprecated === true && { deprecated: true }),
    parameters: [...all, ...(notes.parameters ?? []).map((name) => refTo("parameters", name))],
    ...(body !== undefined && { requestBody: body }),
    responses: responsesOf(binding, options, notes, comment, example?.response),
    ...notes.extensions,
  };
}

function withExample(parameter: Parameter, example: Example | undefined): Parameter {
  const value = example?.parameters?.[parameter.name];
  return value === undefined ? parameter : { ...parameter, example: value };
}

function pathParameter({ name, field, value, isMultiSegment }: PathParameter, schemas: Schemas): Parameter {
  const { description, ...whole }: Schema = field === undefined ? {} : schemas.field(field, "input");
  const text = paragraphs(
    (description as string | undefined) ?? "",
    value === undefined ? "" : `The value of \`${field?.name}\` is \`${value}\`.`,
    isMultiSegment ? "May hold slashes, which may be written as `%2F`: `a/b` and `a%2Fb` are the same." : "",
  );
  // Rules are those of the whole value.
  const schema = field === undefined || value !== undefined ? { type: "string" } : whole;
  return { name, in: "path", required: true, ...(text !== "" && { description: text }), schema };
}

/** Names of codes in comments: `Errors: NOT_FOUND, PERMISSION_DENIED.` */
const codesByName: ReadonlyMap<string, Code> = new Map(
  CodeSchema.values.slice(1).map(({ name, number }) => [name, number]),
);

/** The name of a response among the components: `NotFound`. */
export function errorName(status: number): string {
  return errorNames[status] ?? `Error${status}`;
}

const errorNames: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  429: "TooManyRequests",
  503: "Unavailable",
};

function responsesOf(
  binding: Binding,
  { schemas, form }: OperationOptions,
  notes: MethodNotes,
  comment: string,
  example: Json | undefined,
): Operation["responses"] {
  const named = [...comment.matchAll(/\b[A-Z]+(?:_[A-Z]+)*\b/g)].flatMap(([name]) => codesByName.get(name) ?? []);
  const statuses = new Set(
    [Code.InvalidArgument, ...named, ...(notes.errors ?? [])]
      .map(httpStatusOf)
      .filter((status) => status in errorNames),
  );
  const content = responseContent(binding, schemas, form, example);
  const errors = [...statuses].sort((a, b) => a - b);
  return {
    "200": {
      description: "OK",
      ...(notes.responseHeaders !== undefined && { headers: notes.responseHeaders }),
      ...(content !== undefined && { content }),
    },
    ...(notes.isConditional && { "304": { description: "Not modified: `If-None-Match` has the current etag." } }),
    ...Object.fromEntries(
      errors.map((status): [string, Reference] => [String(status), refTo("responses", errorName(status))]),
    ),
    default: refTo("responses", "Error"),
  };
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
