/** What the package exports as `platform-api/client/node`: what needs Node. */
import { createGrpcTransport } from "@connectrpc/connect-node";
import type { TransportFactory } from "./transport.ts";

/** gRPC over HTTP/2. */
export const grpc: TransportFactory = createGrpcTransport;
