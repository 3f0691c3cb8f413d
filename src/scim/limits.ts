/** What one request may ask for, and what is stored of a resource. docs/limits.md has the table. */
export const limits = {
  /** Bytes of the body of a request about users; a group has many members. */
  userBytes: 256 * 1024,
  groupBytes: 1024 * 1024,
  /** Bytes of a stored resource, without its members, in JSON. */
  storedBytes: 64 * 1024,
  /** Bytes of `userName` and `externalId`, which are in indexes. */
  nameBytes: 1024,
  /** Values of an attribute. */
  values: 200,
  members: 10_000,
  operations: 1000,
  /** Bytes of a filter, or of a path. */
  filterBytes: 1024,
  /** Comparisons, negations and filters of values in a filter. */
  filterNodes: 20,
  /** Names in `attributes` and in `excludedAttributes`. */
  attributes: 100,
  /** Values that the operations of a PATCH look at, times the nodes of their filters. */
  work: 50_000,
  /** Resources of a page. */
  count: 200,
  /** Resources that a filter without an index may look at. */
  examined: 10_000,
  examinedBytes: 16 * 1024 * 1024,
  /** Bytes after which a page ends early. */
  pageBytes: 1024 * 1024,
  /** Groups that a user is shown with. */
  groupsOfUser: 1000,
} as const;
