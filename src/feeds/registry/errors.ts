/** What can be wrong with a registry. */

/** The registry says something that is not taken: trying again does not help unless what it holds changes. */
export class RegistryRefusal extends Error {
  override readonly name = "RegistryRefusal";
}

/** No usable answer came: no route, time-out, a status that says so. */
export class RegistryFailure extends Error {
  override readonly name = "RegistryFailure";
}
