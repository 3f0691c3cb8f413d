/** The table of the standard methods (AIP-131 to AIP-135, AIP-231), as Connect handlers of a declared resource. */
import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { type StandardMethod, standardMethodOf } from "../annotations.ts";
import type { Awaitable } from "../awaitable.ts";
import type { StoredMessage } from "../codec/index.ts";
import { standardCreate } from "./create.ts";
import type { Resource } from "./declaration.ts";
import { standardDelete } from "./delete.ts";
import { standardBatchGet, standardGet } from "./get.ts";
import { standardList } from "./list.ts";
import { standardUpdate } from "./update.ts";

/** A unary handler of any method: registries call it with the request of its method. */
type Handler = {
  handle(request: Message, context: HandlerContext): Awaitable<Message | StoredMessage>;
}["handle"];

/** Handlers by the method's local name (`getRepo`). */
export type Handlers = Readonly<Record<string, Handler>>;

const makers: Partial<Record<StandardMethod["verb"], (resource: Resource, method: DescMethod) => Handler>> = {
  Get: standardGet,
  BatchGet: standardBatchGet,
  List: standardList,
  Create: standardCreate,
  Update: standardUpdate,
  Delete: standardDelete,
};

/** The standard methods that `service` has for `resource`. */
export function standardMethods(service: DescService, resource: Resource): Handlers {
  const handlers: Record<string, Handler> = {};
  for (const method of service.methods) {
    const standard = standardMethodOf(method);
    if (standard?.kind !== resource.contract.kind) continue;
    const handler = makers[standard.verb]?.(resource, method);
    if (handler !== undefined) handlers[method.localName] = handler;
  }
  return handlers;
}
