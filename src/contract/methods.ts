/** The annotations of methods. Incomplete annotations are an error. */
import type { DescField, DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { hasOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { resource_reference } from "../../gen/google/api/resource_pb.ts";
import { Event_Audience, events, iam, iam_scope } from "../../gen/platform/annotations/annotations_pb.ts";
import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { getOption, type StandardMethod, standardMethodOf } from "../annotations.ts";
import { localOf } from "../codec/index.ts";
import { IncompleteError } from "./incomplete-error.ts";
import { readResource } from "./resources.ts";

/** Who may call a method. */
type AuthorizationRule =
  /** Anyone, without a token. */
  | { readonly kind: "open" }
  /** A caller that holds every capability at the scope in the request. */
  | { readonly kind: "scoped"; readonly capabilities: readonly Capability[]; readonly scope: Scope }
  /**
   * Any authenticated caller. The handler restricts its response to the scopes where the caller holds every capability.
   */
  | { readonly kind: "unscoped"; readonly capabilities: readonly Capability[] };

/** The field of a request with the uid that it is authorized at. */
export interface Scope {
  /** The path of the field in errors, relative to the resource for bodies. */
  readonly field: string;
  /** The type of the resource with that uid: `iam.platform.internal/Group`. */
  readonly resourceType: string;
  /** Whether an empty uid is the whole platform. */
  readonly mayBePlatform: boolean;
  /** The uid in a request; "" when there is none. */
  uidOf(request: Message): string;
}

/** The contract of one method, without its HTTP binding. */
export interface MethodContract {
  readonly method: DescMethod;
  /** `iam` of `platform.iam.v2`. */
  readonly domain: string;
  readonly authorization: AuthorizationRule;
  /** Absent for a custom method. */
  readonly standard: StandardMethod | undefined;
  /** False for methods marked NO_SIDE_EFFECTS. */
  readonly mutates: boolean;
  /** Whether a repeated call changes nothing more: that of a method that reads, updates or deletes. */
  readonly isIdempotent: boolean;
  /** The event that a successful change emits. */
  readonly event: EventContract | undefined;
}

/** The event of a method. */
export interface EventContract {
  readonly type: string;
  readonly extensions: readonly string[];
  /** Never delivered to a subscription. */
  readonly internal: boolean;
  /** The path of the route up to its first variable: `/iam/v2/groups`. */
  readonly path: string;
}

/** The contract of every method that {@link readContract} was given. */
export interface Contract {
  /** Errors: a plain Error for a method that is not in the contract, which is a bug. */
  of(method: DescMethod): MethodContract;
  readonly methods: readonly MethodContract[];
}

/** Reads the contract of services. Errors: one IncompleteError that lists every method with incomplete annotations. */
export function readContract(services: Iterable<DescService>): Contract {
  const faults: string[] = [];
  const methods = new Map<DescMethod, MethodContract>();
  for (const service of services) {
    for (const method of service.methods) {
      try {
        methods.set(method, readMethod(method));
      } catch (error) {
        faults.push(`${service.typeName}.${method.name}: ${(error as Error).message}`);
      }
    }
  }
  if (faults.length > 0) throw new IncompleteError("the contract", faults);
  return {
    methods: [...methods.values()],
    of(method) {
      const contract = methods.get(method);
      if (contract === undefined) throw new Error(`${method.parent.typeName}.${method.name} is not in the contract`);
      return contract;
    },
  };
}

const idempotentVerbs: ReadonlySet<string> = new Set(["Update", "Delete", "BatchUpdate", "BatchDelete"]);

function readMethod(method: DescMethod): MethodContract {
  const [, domain] = method.parent.file.proto.package.split(".");
  if (domain === undefined) throw new Error("its package names no domain");
  if (method.methodKind !== "unary" && method.methodKind !== "client_streaming") throw new Error("streams its answer");
  if (!hasOption(method, http)) throw new Error("has no google.api.http binding");
  const standard = standardMethodOf(method);
  const mutates = method.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  if (mutates && standard !== undefined && !hasOption(method, events))
    throw new Error("changes a resource and has no event; or is its idempotency_level NO_SIDE_EFFECTS?");
  return {
    method,
    domain,
    standard,
    authorization: readAuthorization(method),
    mutates,
    isIdempotent:
      !mutates || (standard === undefined ? isIdempotentOverHttp(method) : idempotentVerbs.has(standard.verb)),
    event: hasOption(method, events) ? readEvent(method) : undefined,
  };
}

/** Whether the HTTP method of a method is idempotent (RFC 9110, section 9.2.2). */
function isIdempotentOverHttp(method: DescMethod): boolean {
  const { case: httpMethod } = getOption(method, http).pattern;
  return httpMethod === "put" || httpMethod === "delete";
}

function readEvent(method: DescMethod): EventContract {
  const { type, extensions, audience } = getOption(method, events);
  const { value: route } = getOption(method, http).pattern;
  if (typeof route !== "string") throw new Error("has an event and no route with a path");
  const [path = ""] = route.split(/\/?\{/);
  return { type, extensions, internal: audience === Event_Audience.INTERNAL, path };
}

function readAuthorization(method: DescMethod): AuthorizationRule {
  if (!hasOption(method, iam)) throw new Error("has no authorization rule");
  const { rule } = getOption(method, iam);
  const scopes = method.input.fields.filter((field) => getOption(field, iam_scope));
  switch (rule.case) {
    case "disabled":
      return { kind: "open" };
    case "enabled": {
      const { capabilities, unscoped, platform } = rule.value;
      if (unscoped) return { kind: "unscoped", capabilities };
      if (capabilities.length === 0) throw new Error("is scoped but needs no capability");
      const [field] = scopes;
      if (field === undefined || scopes.length > 1) throw new Error(`is scoped and has ${scopes.length} scope fields`);
      return { kind: "scoped", capabilities, scope: { ...readScope(field), mayBePlatform: platform } };
    }
    default:
      throw new Error("has an empty authorization rule");
  }
}

function readScope(field: DescField): Omit<Scope, "mayBePlatform"> {
  if (field.fieldKind === "scalar") {
    const resourceType = getOption(field, resource_reference).type;
    if (resourceType === "") throw new Error(`scope field ${field.name} has no google.api.resource_reference`);
    return { field: field.name, resourceType, uidOf: (request) => read(request, field.localName) as string };
  }
  const uid = field.message?.field.uid;
  if (field.fieldKind !== "message" || uid === undefined)
    throw new Error(`scope field ${field.name} is not a uid and holds none`);
  return {
    field: "uid",
    resourceType: readResource(field.message).type,
    uidOf: (request) => {
      const resource = read(request, field.localName) as Message | undefined;
      return resource === undefined ? "" : (read(resource, uid.localName) as string);
    },
  };
}

function read(message: Message, localName: string): unknown {
  return localOf(message)[localName];
}

/**
 * Whether a field of a request, by its path, holds a uid and nothing else. An artifact may also be named by its id.
 */
export function holdsUid(path: readonly DescField[]): boolean {
  const { type } = getOption(path.at(-1)!, resource_reference);
  const isOfResource = type !== "" && type !== "libraries.platform.internal/Artifact";
  return isOfResource || path.some((field) => getOption(field, iam_scope));
}
