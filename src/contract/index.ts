/**
 * The contract room reads what the proto files say about methods and resources, once, at start-up, and answers questions about it.
 *
 * - {@link readContract}: per method the authorization rule, the scope, the event and whether it mutates; per resource its type and the
 *   behaviour of its fields. It refuses to start the server on a method that says too little, naming the method.
 * - {@link keepDistinct}: which repeated fields are sets.
 * - {@link violationsOf}: the value rules of `buf.validate`, worded as this API words them, in field-number order.
 *
 * Nothing here decides about a call, reads a token or touches a row: `auth` and `resource` do that with what they read here.
 * Nothing the annotations say is repeated anywhere else.
 *
 * Follows: AIP-203 (field behavior), AIP-4231 (resource names), protovalidate, google.api.http for the presence of a binding.
 */
export {
  type AuthorizationRule,
  type Contract,
  type EventContract,
  type MethodContract,
  readContract,
  type Scope,
} from "./methods.ts";
export { type FieldBehaviors, type ResourceContract, readBehaviors, readResource } from "./resources.ts";
export { keepDistinct } from "./sets.ts";
export { nulViolations } from "./text.ts";
export { violationsOf, warmValidation } from "./validation.ts";
