/** Brings the columns of identities that only their messages tell up to date, where a migration could not. */
import { contentOf, messageOf } from "../../resource/index.ts";
import type { Database } from "../../store/index.ts";
import { identities } from "./identities.ts";

const batchSize = 200;

/** Indexes the identities that the migration has left; there are none once it has. */
export async function indexIdentities(database: Database): Promise<void> {
  const left = [{ column: "has_patterns", equals: -1 }];
  for (let found = batchSize; found === batchSize; ) {
    found = await database.transact(async (session) => {
      const rows = await session.list(identities.table, { where: left, orderBy: [], skip: 0, limit: batchSize });
      for (const row of rows) {
        const { key_source = "", has_patterns = 0 } = contentOf(identities, messageOf(identities, row)).facets;
        await session.setFacets(identities.table, row.uid, { key_source, has_patterns });
      }
      return rows.length;
    });
  }
}
