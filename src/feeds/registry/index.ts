/** Reading an OCI distribution registry: `registry.ts` is what the registry says, `http.ts` how it is asked. */
export type { Credentials } from "./authorization.ts";
export { RegistryFailure, RegistryRefusal } from "./errors.ts";
export { isDigest, isManifestType } from "./manifest.ts";
export {
  isRepositoryName,
  isTagName,
  openRegistry,
  type Registry,
  type RegistryImage,
  type RegistryOptions,
} from "./registry.ts";
