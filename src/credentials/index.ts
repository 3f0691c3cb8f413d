/**
 * credentials: access tokens on this machine: profiles of people who signed in, files, and tokens that CI systems give
 * to jobs.
 */
export { type CiToken, CiTokenError, ciToken } from "./ci-token.ts";
export { fileToken } from "./file-token.ts";
export { type LockAttempt, tryLock } from "./lock-file.ts";
export { lockProfile, profileToken } from "./profile-token.ts";
export {
  defaultProfile,
  type Profile,
  ProfileError,
  profileFile,
  profileNames,
  readProfile,
  removeProfile,
  type SignInProvider,
  writeProfile,
} from "./profiles.ts";
