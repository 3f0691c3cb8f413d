/**
 * client-node: the client on Node: access tokens on this machine, of people who signed in, of files, and of CI systems.
 *
 * This file is what the command line uses. The package exports `package.ts` as `@platform-api/client/node`, which adds
 * gRPC.
 */
import type { GrpcSessions } from "./grpc-sessions.ts";

export { CiTokenError, CiTokenFileError, ciToken } from "./ci-token.ts";
export { fileToken } from "./file-token.ts";
export { tryLock } from "./lock-file.ts";
export { lockProfile, profileServer, profileToken } from "./profile-token.ts";
export {
  defaultProfile,
  InvalidProfileError,
  isSameServer,
  type Profile,
  ProfileError,
  readProfile,
  removeProfile,
  type SignInProvider,
  writeProfile,
} from "./profiles.ts";
export type { GrpcSessions };

/** The connections of calls over gRPC. Their module takes long to load. @param server its base URL. */
export async function grpcSessions(server: string): Promise<GrpcSessions> {
  return new (await import("./grpc-sessions.ts")).GrpcSessions(server);
}
