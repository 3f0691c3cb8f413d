/**
 * A program beside the tests: inserts rows into the database at the address given until it is killed, and prints each
 * uid once its row is durable.
 */
import { openDatabase } from "../../src/store/index.ts";
import { identities, identityRow } from "./tables.ts";

const [url, name] = process.argv.slice(2);
const database = await openDatabase(url!);
await database.migrate();
await Promise.all(
  Array.from({ length: 8 }, async (_, worker) => {
    for (let i = 0; ; i++) {
      const uid = `r/${name}/${worker}/${i}`;
      await database.transact(async (session) => {
        await session.insert(identities, identityRow(uid));
        if (i > 0 && i % 3 === 0) await session.remove(identities, `r/${name}/${worker}/${i - 1}`);
      });
      process.stdout.write(`${uid}\n`);
    }
  }),
);
