/** What the server serves by default, and a database that has its tables. */
import { afterAll } from "vitest";
import { createServices } from "../../src/services/index.ts";
import { type Database, openDatabase } from "../../src/store/index.ts";

/** The services with the settings that the server has by default. */
export const services = createServices({
  openRootGroups: false,
  termsDocuments: undefined,
  allowLoopbackSinks: false,
  v1MaxListItems: 1000,
});

/** A database in memory without rows, which is closed after the tests of the file that asks for it. */
export async function databaseOfFile(): Promise<Database> {
  const database = await openDatabase("sqlite::memory:");
  afterAll(() => database.close());
  await database.migrate();
  return database;
}
