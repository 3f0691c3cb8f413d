/**
 * Adds an index of the key sources of identities, which finds the keys that may verify a token. The key source of an
 * identity with patterns can be derived only from its message: -1 marks the rows that the program has yet to index.
 */

import { type RawBuilder, sql } from "kysely";
import type { Migration } from "../migration.ts";

export const keySources: Migration = {
  name: "0008-key-sources",
  locks: "rewrites identities and builds two indexes on them: reads and writes of identities wait",
  statements: ({ query, types }) => [
    query.schema
      .alterTable("identities")
      .addColumn("key_source", types.text as RawBuilder<never>, (c) => c.notNull().defaultTo("")),
    query.schema
      .alterTable("identities")
      .addColumn("has_patterns", types.integer as RawBuilder<never>, (c) => c.notNull().defaultTo(-1)),
    sql`update identities set key_source = case relationship when 1 then issuer when 2 then 'carried ' || issuer else '' end`,
    sql`update identities set has_patterns = 0 where relationship <> 1 or parent = ''`,
    query.schema.dropIndex("identities_issuer_subject"),
    query.schema
      .createIndex("identities_key_source_subject")
      .on("identities")
      .columns(["key_source", "subject", "uid"]),
    query.schema.createIndex("identities_has_patterns").on("identities").columns(["has_patterns", "uid"]),
  ],
};
