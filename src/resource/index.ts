/**
 * The standard methods of declared resources, and the functions that custom methods share with them.
 *
 * A resource is one declaration ({@link defineResource}): its message, its parent, the columns derived from it, one
 * filter for each filter field of its list request, and the rules that a descriptor cannot express. {@link implement}
 * gives a service the Get, BatchGet, List, Create, Update and Delete of its resources.
 *
 * Promises:
 *
 * - A change and everything that follows from it are one transaction.
 * - An update writes only what its mask names, and nothing when nothing changes. Value rules are checked on the merged
 *   resource, for the fields that the mask names.
 * - The deletion of a parent is refused while it has children that block it, and deletes those that cascade.
 * - The cost of a page does not depend on its position or on other rows of the table. A row that is not modified during
 *   paging is returned exactly once. Totals are exact.
 *
 * It knows no protocols, tokens or SQL: requests are messages, callers come from `auth`, rows from `store`.
 *
 * Follows: AIP-121, 131 to 136, 148, 154, 158, 160, 161, 203, 211, 231.
 */

export { createSecrets, type Secrets } from "../sealing.ts";
export {
  type CallEnvironment,
  databaseOf,
  environmentOf,
  provideEnvironment,
  provideReceived,
  type Received,
  type Receiver,
  receivedOf,
  type ServerEnvironment,
  transactionOf,
} from "./call-environment.ts";
export { changesOf, recordIn, removeRow } from "./changes.ts";
export { insertResource, storeResource } from "./create.ts";
export {
  type Change,
  defineResource,
  equalTo,
  type Filter,
  type OnParentDelete,
  type Resource,
  type RowChange,
  type View,
} from "./declaration.ts";
export { removeResource, removeSelected } from "./delete.ts";
export { pathName } from "./field-mask.ts";
export {
  findRow,
  findRowToChange,
  findRowToRemove,
  holdResource,
  requireResource,
  requireUid,
  standardBatchGet,
  standardGet,
} from "./get.ts";
export { selectionOf } from "./hierarchy-filter.ts";
export { implement, type MountedService, mount } from "./implement.ts";
export {
  apiFeed,
  defaultFeed,
  type FeedResource,
  type FeedWrite,
  feedOrderSetting,
  feedRows,
  mergeAgain,
  mergeEntries,
  pruneOfFeed,
  readFeedOrder,
  readOfFeed,
  removeOfFeed,
  saveOfFeed,
  writeFeedOrder,
} from "./import/feed.ts";
export { nextRows } from "./import/next-rows.ts";
export { type Pruned, pruneResource } from "./import/prune.ts";
export { prepareResource, type Saved, type SavedChange, saveContent, saveResource } from "./import/save.ts";
export { type ListRequest, listResources, listResponse, openList } from "./list.ts";
export { type NamedResource, namedResources } from "./named-resources.ts";
export { commonSortNames } from "./order-by.ts";
export { messagePageLength } from "./page-bytes.ts";
export { createPageTokens } from "./page-token.ts";
export { hydrated, toResponse, toResponses } from "./response.ts";
export { contentOf, messageOf, newRow, variantOfEtag } from "./row-mapping.ts";
export { rewriteResource, updateResource } from "./update.ts";
