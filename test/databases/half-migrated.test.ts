/** What a migration leaves that is killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { migrations } from "../../src/store/migrations/index.ts";
import { cleanEnvironment, repository } from "../cli/platform-process.ts";
import { onEveryEmptyDatabase } from "./databases.ts";
import { migrateUpTo } from "./migrate-up-to.ts";

/** Migrates, and kills itself after the first of several migrations. */
const program = `
  const [store, url] = process.argv.slice(1);
  const { openDatabase } = await import(store);
  const database = await openDatabase(url);
  await database.migrate(({ name }) => { console.log(name); process.kill(process.pid, "SIGKILL"); });
`;

onEveryEmptyDatabase("a migration that is killed", (database) => {
  test("leaves the older schema whole", async () => {
    await migrateUpTo("0012-vuln-reports", database());
    const before = await (await database().open()).columns();
    const store = pathToFileURL(join(repository, "src/store/index.ts")).href;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program, store, database().url], {
      env: cleanEnvironment(),
      stdio: ["ignore", "ignore", "inherit"],
    });
    expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
    const db = await database().open();
    const after = new Map(await db.columns());
    after.delete("migration_lock"); // PostgreSQL's, which is made before
    expect(after).toEqual(before);
    const names = migrations.map(({ name }) => name);
    const missing = names.slice(names.indexOf("0012-vuln-reports"));
    expect((await db.pendingMigrations()).map(({ name }) => name)).toEqual(missing);
    expect(await db.migrate()).toBe(missing.length);
  });
});
