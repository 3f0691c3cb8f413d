import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { install } from "../../src/app/installation.ts";
import { ensureSecretKey } from "../../src/app/keys/secrets.ts";
import { type Database, openDatabase } from "../../src/store/index.ts";

let folder: string;
let database: Database;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-installation-"));
  database = await openDatabase(`sqlite:${join(folder, "platform.db")}`);
  await database.migrate();
});
afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

it("creates the key for secrets in an initialised database once", async () => {
  await install(database, "https://api.platform.example", Date.now);
  const keys = await Promise.all([ensureSecretKey(database), ensureSecretKey(database)]);
  keys.push(await ensureSecretKey(database));
  expect(keys[0]).toHaveLength(32);
  expect(new Set(keys.map((key) => Buffer.from(key).toString("hex"))).size).toBe(1);
});
