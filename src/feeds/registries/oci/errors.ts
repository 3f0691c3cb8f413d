/** Errors of registry clients. */

/** The registry's content is not accepted. A retry does not help unless the content changes. */
export class RegistryRefusal extends Error {
  override readonly name = "RegistryRefusal";
}

/** There is no usable response: a network error, a timeout, or an error status. */
export class RegistryFailure extends Error {
  override readonly name = "RegistryFailure";
}
