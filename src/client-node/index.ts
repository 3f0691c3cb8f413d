/**
 * client-node: the client on Node: access tokens on this machine, of people who signed in, of files, and of CI systems.
 *
 * This file is what the command line uses. The package exports `package.ts` as `platform-api/client/node`, which adds
 * gRPC.
 */
export { type CiToken, CiTokenError, ciToken } from "./ci-token.ts";
export { fileToken } from "./file-token.ts";
export { type LockAttempt, tryLock } from "./lock-file.ts";
export { lockProfile, profileServer, profileToken } from "./profile-token.ts";
export {
  defaultProfile,
  isSameServer,
  type Profile,
  ProfileError,
  profileFile,
  profileNames,
  readProfile,
  removeProfile,
  type SignInProvider,
  writeProfile,
} from "./profiles.ts";
