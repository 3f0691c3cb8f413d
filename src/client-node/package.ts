/** What the package exports as `@platform-api/client/node`: what needs Node. */
import { createGrpcTransport } from "@connectrpc/connect-node";
import type { TransportFactory } from "../client/index.ts";
import { GrpcSessions } from "./grpc-sessions.ts";

export { type CiToken, CiTokenError, ciToken } from "./ci-token.ts";
export { fileToken } from "./file-token.ts";
export { profileServer, profileToken } from "./profile-token.ts";
export { ProfileError } from "./profiles.ts";

/** gRPC over HTTP/2. */
export const grpc: TransportFactory = (options) =>
  createGrpcTransport({ ...options, sessionManager: new GrpcSessions(options.baseUrl) });
