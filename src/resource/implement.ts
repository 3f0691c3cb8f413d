/** Implements services by standard and custom handlers. */
import type { DescMethodClientStreaming, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { standardMethodOf } from "../annotations.ts";
import type { Receiver } from "./call-environment.ts";
import type { Resource } from "./declaration.ts";
import { linkDependents } from "./delete.ts";
import { type Handlers, standardMethods } from "./standard-methods.ts";

/** A service of the contract: a handler for each of its methods, and the resources that it serves. */
export interface MountedService {
  readonly service: DescService;
  readonly methods: Handlers;
  readonly resources: readonly Resource[];
  /** The receivers of methods whose requests come in pieces, by the local names of these. */
  readonly receivers?: Readonly<Record<string, Receiver>>;
}

/** Handlers by local name. That of a method whose requests come in pieces has the message that its receiver made. */
type CustomHandlers<S extends DescService> = {
  [N in keyof S["method"]]?: S["method"][N] extends DescMethodClientStreaming<infer I, infer O>
    ? (request: MessageShape<I>, context: HandlerContext) => Promise<MessageInitShape<O>>
    : ServiceImpl<S>[N];
};

/**
 * Implements a service by the standard methods of its resources and by custom handlers, which win over standard ones.
 * Errors: a plain Error naming the methods that have neither, or a resource whose declaration does not fit the methods.
 */
export function implement<S extends DescService>(
  service: S,
  resources: readonly Resource[],
  custom: CustomHandlers<S> = {},
  receivers: Readonly<Record<string, Receiver>> = {},
): MountedService {
  for (const resource of resources) {
    requireParent(service, resource);
    requireList(service, resource);
  }
  const standard = resources.map((resource) => standardMethods(service, resource));
  const methods: Handlers = Object.assign({}, ...standard, custom);
  const missing = service.methods.filter((method) => methods[method.localName] === undefined);
  if (missing.length > 0)
    throw new Error(`${service.typeName} lacks ${missing.map((method) => method.name).join(", ")}`);
  const unreceived = service.methods.filter(
    ({ methodKind, localName }) => (methodKind === "client_streaming") !== (receivers[localName] !== undefined),
  );
  if (unreceived.length > 0)
    throw new Error(`${service.typeName} has no receiver for ${unreceived.map((method) => method.name).join(", ")}`);
  return { service, methods, resources, receivers };
}

/**
 * Errors: a plain Error when rows are created below a parent that the declaration does not name. The deletion of that
 * parent would leave them behind.
 */
function requireParent(service: DescService, { contract, declaration }: Resource): void {
  const { parent, partOf, nestsInItself } = declaration;
  if ((parent ?? partOf ?? nestsInItself) !== undefined) return;
  const isBelow = service.methods.some((method) => {
    const standard = standardMethodOf(method);
    return standard?.verb === "Create" && standard.kind === contract.kind && "parent" in method.input.field;
  });
  if (isBelow) throw new Error(`${contract.kind} is created below a parent, which its declaration does not name`);
}

/** Errors: a plain Error when the declaration names another list request than the List method takes. */
function requireList(
  { typeName, methods }: DescService,
  { contract: { kind }, declaration: { list } }: Resource,
): void {
  const method = methods.find((each) => {
    const standard = standardMethodOf(each);
    return standard?.verb === "List" && standard.kind === kind;
  });
  if (method?.input === list) return;
  const declared = list === undefined ? "declares no list" : `declares the list ${list.name}`;
  const served = method === undefined ? "has no List method for it" : `lists it by ${method.input.name}`;
  throw new Error(`${kind} ${declared}, and ${typeName} ${served}`);
}

/**
 * Mounts services: from now on the deletion of a parent takes the children and parts of these resources into account,
 * in the order of the services. Mounting a service again changes nothing.
 */
export function mount(services: readonly MountedService[]): readonly MountedService[] {
  for (const { resources } of services) for (const resource of resources) linkDependents(resource);
  return services;
}
