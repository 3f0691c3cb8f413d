/** All migrations, in the order in which they run. */

import type { Migration, Release } from "../migration.ts";
import { packedRows } from "./0007-packed-rows.ts";
import { keySources } from "./0008-key-sources.ts";
import { uniqueRoleBindings } from "./0009-unique-role-bindings.ts";
import { feeds } from "./0010-feeds.ts";
import { advisoryOrders } from "./0011-advisory-orders.ts";
import { vulnReports } from "./0012-vuln-reports.ts";
import { provisioning } from "./0013-provisioning.ts";
import { textScans } from "./0014-text-scans.ts";
import { searchVocabularies } from "./0015-search-vocabularies.ts";
import { artifactVersionColumn } from "./0016-artifact-version-column.ts";
import { auditPlaces } from "./0017-audit-places.ts";
import { deliverySettings } from "./0018-delivery-settings.ts";
import { bounds } from "./0019-bounds.ts";
import { firstTables } from "./first-tables.ts";

/** The migrations. A new one goes to the end. */
const first: readonly Migration[] = [
  ...firstTables,
  packedRows,
  keySources,
  uniqueRoleBindings,
  feeds,
  advisoryOrders,
  vulnReports,
  provisioning,
  textScans,
  searchVocabularies,
  artifactVersionColumn,
  auditPlaces,
  deliverySettings,
  bounds,
];

/**
 * The releases that change the schema, in order. In the first one are those from before phases, too: programs that lack
 * one of them cannot work on its schema. The next release begins a list of its own.
 */
export const releases: readonly Release[] = [{ steps: first, finish: [] }];

/** The migrations of all releases. */
export const migrations: readonly Migration[] = releases.flatMap(({ steps, finish }) => [...steps, ...finish]);
