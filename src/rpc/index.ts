/**
 * rpc: gRPC, gRPC-Web and Connect, with health and reflection. Simple unary calls take a fast path (`unary/`); all
 * others go to Connect's own protocol handlers.
 *
 * It knows no domain. Standards: the gRPC and gRPC-Web protocol specifications, the Connect protocol, grpc.health.v1,
 * grpc.reflection.v1.
 */
export { refuseGrpc, setHeaders } from "./connect/adapter.ts";
export { createRpcHandler, pathOf, type RpcHandler } from "./handler.ts";
export { createHealth, mountHealth } from "./health.ts";
export { mountReflection } from "./reflection.ts";
export { refuseRpc } from "./refuse.ts";
