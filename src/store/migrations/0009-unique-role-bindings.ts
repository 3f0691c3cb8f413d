/** Makes role bindings unique by identity, role and group. Of duplicates, the oldest is kept. */

import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** An older row of `role_bindings` that grants the same as `b`. */
const older = sql`select 1 from role_bindings as o
  where o.parent = b.parent and o.identity_uid = b.identity_uid and o.role_uid = b.role_uid
    and (o.create_time_us < b.create_time_us or (o.create_time_us = b.create_time_us and o.uid < b.uid))`;

export const uniqueRoleBindings: Migration = {
  name: "0009-unique-role-bindings",
  locks: "removes duplicate role bindings and builds an index on them: writes of role bindings wait",
  statements: ({ query }) => [
    sql`with recursive removed (parent, ancestor) as (
        select b.parent, b.parent from role_bindings as b where exists (${older})
        union all
        select parent, case when length(ancestor) > 40 then substr(ancestor, 1, length(ancestor) - 17) else '' end
        from removed where ancestor <> ''
      )
      insert into counters (ancestor, table_name, class, slot, count)
      select counted.ancestor, 'role_bindings', counted.class, 0, -count(*)
      from (
        select ancestor, 'below' as class from removed
        union all
        select ancestor, 'children' from removed where ancestor = parent
      ) as counted
      where true
      group by counted.ancestor, counted.class
      on conflict (ancestor, table_name, class, slot) do update set count = counters.count + excluded.count`,
    sql`delete from role_bindings as b where exists (${older})`,
    query.schema
      .createIndex("role_bindings_parent_identity_uid_role_uid")
      .on("role_bindings")
      .columns(["parent", "identity_uid", "role_uid"])
      .unique(),
  ],
};
