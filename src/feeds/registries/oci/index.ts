/** Client of OCI distribution registries: `registry.ts` for the content, `http.ts` for the requests. */
export type { Credentials } from "./authorization.ts";
export { RegistryFailure, RegistryRefusal } from "./errors.ts";
export { isDigest, isManifestType } from "./manifest.ts";
export {
  type ContainerRegistry,
  isRepositoryName,
  isTagName,
  openRegistry,
  type RegistryImage,
  type RegistryOptions,
} from "./registry.ts";
export type { SbomDocument } from "./sboms.ts";
