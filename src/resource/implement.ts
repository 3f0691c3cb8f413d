/** Joins standard and custom handlers into the implementation of a service. */
import type { DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Handlers } from "./standard-methods.ts";

/** A service and a handler for each of its methods. */
export interface ServiceImplementation {
  readonly service: DescService;
  readonly methods: Handlers;
}

/** Custom handlers win over standard ones. Errors: a plain Error naming the methods that have neither. */
export function implement<S extends DescService>(
  service: S,
  standard: Handlers,
  custom: Partial<ServiceImpl<S>> = {},
): ServiceImplementation {
  const methods = { ...standard, ...(custom as unknown as Handlers) };
  const missing = service.methods.filter((method) => methods[method.localName] === undefined);
  if (missing.length > 0)
    throw new Error(`${service.typeName} lacks ${missing.map((method) => method.name).join(", ")}`);
  return { service, methods };
}
