/**
 * The resource room is API design made executable: the standard methods of a declared resource, and the pieces that custom methods share
 * with them.
 *
 * A resource is one declaration ({@link defineResource}): its message, the columns derived from it, one filter for each filter field of its
 * list request, and the rules that a descriptor cannot say. {@link standardMethods} makes Get, List, Create, Update and Delete of it.
 *
 * Promises: a change and all that goes with it are one transaction. An update writes only what its mask names and nothing when nothing
 * changes. Value rules are those of the merged resource, for what the mask names. A page of a list costs the same whatever its position and
 * whatever else is in the table, and a row that is left alone comes exactly once in a walk. Totals are exact.
 *
 * It refuses to know protocols, tokens or SQL: requests are messages, callers come from `auth`, rows from `store`.
 *
 * Follows: AIP-121, 131 to 136, 148, 154, 158, 160, 161, 203, 211.
 */
export { type CallEnvironment, databaseOf, environmentOf, provideEnvironment, transactionOf } from "./call.ts";
export { changesOf, hydrated, type RowChange, removeRow } from "./changes.ts";
export {
  type Change,
  defineResource,
  equalTo,
  type Facet,
  type Filter,
  type Resource,
  type ResourceDeclaration,
} from "./declaration.ts";
export {
  defaultFeed,
  type FeedResource,
  feedRows,
  mergeAgain,
  mergeEntries,
  pruneOfFeed,
  readFeedOrder,
  removeOfFeed,
  type SaidByFeed,
  saveOfFeed,
  writeFeedOrder,
} from "./feed.ts";
export { pathName } from "./field-mask.ts";
export { implement, type ServiceImplementation } from "./implement.ts";
export { type ListRequest, listResponse, openList } from "./list.ts";
export { messagePageLength } from "./page-bytes.ts";
export { createPageTokens, type PageTokens } from "./page-token.ts";
export { type Pruned, pruneResource } from "./prune.ts";
export { contentOf, etagOf, messageOf } from "./record.ts";
export { prepareResource, type Saved, type SaveRequest, saveResource } from "./save.ts";
export { createSecrets, type Secrets } from "./secrets.ts";
export {
  findRow,
  type Handlers,
  insertResource,
  listResources,
  present,
  presentAll,
  removeResource,
  removeSelected,
  requireResource,
  requireUid,
  rewriteResource,
  standardMethods,
  storeResource,
  updateResource,
} from "./standard-methods.ts";
