/**
 * Bindings: how one HTTP method and template reach one RPC, read from the `google.api.http` option and checked against
 * the descriptors. A binding that cannot be served is refused here, when the server starts.
 */
import {
  type DescField,
  type DescMethod,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  hasOption,
  type JsonValue,
} from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { getOption } from "../annotations.ts";
import { type FieldPath, findField, formatFieldPath, leafField, otherMember, resolveFieldPath } from "./field-path.ts";
import { selectRules } from "./http-rules.ts";
import { parseTemplate, type Template, TemplateError, type Variable } from "./template.ts";

/** A variable of a template and the request field it fills. `fieldPath` is in proto names. */
export interface BoundVariable extends Variable {
  readonly path: FieldPath;
  /** Whether it can capture any other number of segments than one. */
  readonly isMultiSegment: boolean;
}

/** A method that is served over REST. */
export type RestMethod = DescMethodUnary | DescMethodServerStreaming | DescMethodClientStreaming;

/** One way to reach a method by HTTP. */
export interface Binding {
  readonly method: RestMethod;
  /** `GET`, `PATCH`, …; `*` for any. */
  readonly httpMethod: string;
  readonly template: Template;
  readonly variables: readonly BoundVariable[];
  /** The request field that is the body, `*` for the whole request, undefined for no body. */
  readonly body: DescField | "*" | undefined;
  /** The response field that is the body, undefined for the whole response. */
  readonly responseBody: DescField | undefined;
}

/** Options of {@link readBindings}. */
export interface BindingOptions {
  /**
   * The `http` section of a service configuration, google.api.Http in JSON. Its rules replace the annotations of the
   * methods that they select, by name or by `package.*`; of several for one method, the last.
   */
  readonly httpRules?: JsonValue | undefined;
  /** A binding that cannot be served: an error that names all of them, or left out; default `refuse`. */
  readonly invalidBindings?: "refuse" | "skip" | undefined;
  /**
   * Takes what is not served: a method whose paths answer UNIMPLEMENTED or, with `template`, a binding that is left
   * out.
   */
  onSkipped?(method: DescMethod, reason: string, template?: string): void;
}

/**
 * Reads the bindings of all methods with rules, in the order of declaration. Methods with streams in both
 * directions are left out.
 * Errors: Error with a line for each problem: the method, and the column where a template is at fault.
 */
export function readBindings(services: Iterable<DescService>, options: BindingOptions = {}): Binding[] {
  return readAllBindings(services, options).filter(({ method }) => isServed(method));
}

/** Whether calls of a method can be made by HTTP bindings: not those with streams in both directions. */
export function isServed(method: DescMethod): boolean {
  return method.methodKind !== "bidi_streaming";
}

/** As {@link readBindings}, with those of methods that are not served. */
export function readAllBindings(services: Iterable<DescService>, options: BindingOptions = {}): Binding[] {
  const methods = [...services].flatMap((service) => service.methods);
  const { rules, problems } = selectRules(
    new Map(methods.map((method) => [methodName(method), method])),
    options.httpRules,
  );
  const refuse = (method: DescMethod, template: string, problem: string) => {
    if (options.invalidBindings === "skip") options.onSkipped?.(method, problem, template);
    else problems.push(`${methodName(method)}: ${template}: ${problem}`);
  };
  const taken = new Map<string, Binding>();
  const bindings = methods.flatMap((method) => {
    const rule = rules.get(method) ?? (hasOption(method, http) ? getOption(method, http) : undefined);
    if (rule === undefined) return [];
    if (!isServed(method)) options.onSkipped?.(method, "streams in both directions cannot be reached by HTTP bindings");
    return bindingsOf(method, rule, taken, refuse);
  });
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return bindings;
}

/** The full name of a method: `platform.iam.v2.RolesService.GetRole`. */
export function methodName(method: DescMethod): string {
  return `${method.parent.typeName}.${method.name}`;
}

/** @param taken the bindings so far, by the requests that they match. @param refuse takes what cannot be served. */
function bindingsOf(
  method: DescMethod,
  rule: HttpRule,
  taken: Map<string, Binding>,
  refuse: (method: DescMethod, template: string, problem: string) => void,
): Binding[] {
  return [rule, ...rule.additionalBindings].flatMap((candidate) => {
    try {
      if (candidate !== rule && candidate.additionalBindings.length > 0)
        throw new Error("additional_bindings must not be nested");
      const binding = readBinding(method, candidate);
      const requests = requestsOf(binding);
      const other = taken.get(requests);
      if (other !== undefined)
        throw new Error(`${binding.httpMethod} is taken by ${methodName(other.method)} (${other.template.text})`);
      taken.set(requests, binding);
      return [binding];
    } catch (error) {
      refuse(method, patternOf(candidate)?.template ?? "", (error as Error).message);
      return [];
    }
  });
}

/** A text that two bindings have in common if they match the same requests. */
function requestsOf({ httpMethod, template: { segments, verb = "" } }: Binding): string {
  return `${httpMethod} ${segments.map((segment) => (segment.kind === "literal" ? segment.text : segment.kind)).join("/")}:${verb}`;
}

function readBinding(method: DescMethod, rule: HttpRule): Binding {
  const pattern = patternOf(rule);
  if (pattern === undefined || pattern.httpMethod === "") throw new Error("an HTTP method and a path are needed");
  if (!httpMethodPattern.test(pattern.httpMethod)) throw new Error(`${pattern.httpMethod} is not an HTTP method`);
  const template = parseTemplate(pattern.template);
  const variables = template.variables.map((variable) => bindVariable(method, template, variable));
  const body = findBody(method, rule.body);
  checkConflicts(variables, body);
  return {
    method: method as Binding["method"],
    httpMethod: pattern.httpMethod,
    template,
    variables,
    body,
    responseBody: findResponseBody(method, rule.responseBody),
  };
}

/** A token (RFC 9110, section 5.6.2). */
const httpMethodPattern = /^[A-Z0-9!#$%&'*+.^_`|~-]+$/;

/** Refuses a field that is bound twice, and two members of a oneof. */
function checkConflicts(variables: readonly BoundVariable[], body: Binding["body"]): void {
  const bound = new Set<string>();
  const members = new Map<string, string>();
  for (const { fieldPath, path, column } of variables) {
    const other = otherMember(path, members);
    if (bound.has(fieldPath)) throw new TemplateError(column, `${fieldPath} is bound twice`);
    if (other !== undefined) throw new TemplateError(column, `${fieldPath} cannot be given with ${other}`);
    bound.add(fieldPath);
  }
  if (typeof body !== "object") return;
  const other = otherMember([body], members);
  if (bound.has(body.name)) throw new Error(`body: ${body.name} is already given by the path`);
  if (other !== undefined) throw new Error(`body: ${body.name} cannot be given with ${other}`);
}

function patternOf({ pattern }: HttpRule): { httpMethod: string; template: string } | undefined {
  switch (pattern.case) {
    case undefined:
      return undefined;
    case "custom":
      return { httpMethod: pattern.value.kind.toUpperCase(), template: pattern.value.path };
    default:
      return { httpMethod: pattern.case.toUpperCase(), template: pattern.value };
  }
}

function bindVariable(method: DescMethod, template: Template, variable: Variable): BoundVariable {
  const path = resolveFieldPath(method.input, variable.fieldPath.split("."));
  if (path === undefined)
    throw new TemplateError(variable.column, `${method.input.typeName} has no field ${variable.fieldPath}`);
  const kind = leafField(path).fieldKind;
  if (kind !== "scalar" && kind !== "enum")
    throw new TemplateError(variable.column, `${variable.fieldPath} is not a singular scalar field`);
  const segments = template.segments.slice(variable.start, variable.end);
  const fieldPath = formatFieldPath(path);
  return { ...variable, fieldPath, path, isMultiSegment: segments.length > 1 || segments[0]?.kind === "**" };
}

function findBody(method: DescMethod, name: string): Binding["body"] {
  if (name === "" || name === "*") return name === "" ? undefined : "*";
  const field = findField(method.input, name);
  if (field === undefined) throw new Error(`body: ${method.input.typeName} has no field ${name}`);
  return field;
}

function findResponseBody(method: DescMethod, name: string): DescField | undefined {
  const field = findField(method.output, name);
  if (field === undefined && name !== "")
    throw new Error(`response_body: ${method.output.typeName} has no field ${name}`);
  return field;
}

/** A row of the route listing. */
export interface Route {
  /** Full name of the method. */
  readonly method: string;
  readonly httpMethod: string;
  readonly template: string;
  /** Request field that is the body, `*` for the whole request, empty for none. */
  readonly body: string;
}

/** All routes of the services, sorted by template, then HTTP method. Errors: as `readBindings`. */
export function listRoutes(services: Iterable<DescService>, options?: BindingOptions): Route[] {
  return readBindings(services, options)
    .map(({ method, httpMethod, template, body }) => ({
      method: methodName(method),
      httpMethod,
      template: template.text,
      body: typeof body === "object" ? body.name : (body ?? ""),
    }))
    .sort((a, b) => compare(a.template, b.template) || compare(a.httpMethod, b.httpMethod));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
