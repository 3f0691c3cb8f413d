/** Fills indexed columns of identities that a migration could not derive from their messages. */
import { contentOf, messageOf } from "../../../resource/index.ts";
import type { Database } from "../../../store/index.ts";
import { identities } from "../identities.ts";

const batchSize = 200;

/** Indexes the identities that the migration has left. Afterwards there are none. */
export async function indexIdentities(database: Database): Promise<void> {
  const left = [{ column: "has_patterns", equals: -1 }];
  for (let found = batchSize; found === batchSize; ) {
    found = await database.transact(async (session) => {
      const rows = await session.list(identities.table, { where: left, limit: batchSize });
      for (const row of rows) {
        const { key_source = "", has_patterns = 0 } = contentOf(identities, messageOf(identities, row)).columns;
        await session.setColumns(identities.table, row.uid, { key_source, has_patterns });
      }
      return rows.length;
    });
  }
}
