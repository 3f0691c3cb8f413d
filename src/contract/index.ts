/**
 * Reads what the proto files say about methods and resources, once, at start-up.
 *
 * - {@link readContract}: for each method its authorization rule, its scope, its event, whether it mutates, and which
 *   standard method it is; for each resource its type and the behavior of its fields. A method with incomplete
 *   annotations is an error that names the method.
 * - {@link keepDistinct}: which repeated fields are sets.
 * - {@link ruledLimits}: the value rules that are kept while a request is read.
 * - {@link violationsOf}: violations of the value rules of `buf.validate`, in the wording of this API and in the order
 *   of field numbers.
 *
 * Nothing here decides about a call, reads a token or accesses a row: `auth` and `resource` do that with what they read
 * here. What the annotations say is repeated nowhere else.
 *
 * Follows: AIP-130 (methods), AIP-203 (field behavior), AIP-4231 (resource names), protovalidate, google.api.http.
 */
export { IncompleteError } from "./incomplete-error.ts";
export {
  type Contract,
  type EventContract,
  holdsUid,
  type MethodContract,
  readContract,
  type Scope,
} from "./methods.ts";
export { type ResourceContract, readBehaviors, readResource } from "./resources.ts";
export { ruledLimits } from "./validation/limits.ts";
export { nulViolations } from "./validation/nul.ts";
export { keepDistinct } from "./validation/sets.ts";
export { violationsOf, warmValidation } from "./validation/validate.ts";
