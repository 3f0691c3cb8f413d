/** `platform backup` and `platform restore`, from the outside. */
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdDecompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { settingsIn, startPlatformForTest, temporaryFolder } from "../platform-process.ts";
import { runHere } from "../run-here.ts";

const key = "0123456789abcdef".repeat(4);

/** A folder with a database and a backup of it. */
async function backedUp(...options: readonly string[]) {
  const cwd = await temporaryFolder();
  const { database, serve } = settingsIn(cwd);
  expect((await runHere(["init", ...database])).code).toBe(0);
  const run = (...args: readonly string[]) => runHere(args, { cwd });
  const made = await run("backup", "b", ...options, ...database);
  expect(made).toMatchObject({ code: 0 });
  const path = (name: string) => join(cwd, name);
  return { cwd, path, database, serve, run, made, bytes: readFileSync(path("b")) };
}

test("a backup tells what it has, is readable by its owner only, and is a compressed database file", async () => {
  const { path, run, made, bytes, cwd } = await backedUp();
  expect(made.stdout).toMatch(/^schema +\d{4}-[a-z-]+\n/m);
  expect(made.stdout).toMatch(/^encryption +none\n/m);
  expect(made.stdout).toMatch(/^ {2}identities +1\n/m);
  expect(made.stderr).toMatch(/^backed up .* to .*\/b, /);
  expect(statSync(path("b")).mode & 0o777).toBe(0o600);
  expect(readdirSync(cwd).filter((name) => !name.startsWith("platform.db"))).toEqual(["b"]);
  expect(await run("restore", "--verify", "b")).toEqual({
    code: 0,
    stdout: made.stdout,
    stderr: "the backup is whole\n",
  });
  // As docs/backup.md says: without this program.
  const start = bytes.indexOf("\n", bytes.indexOf("\n") + 1) + 1;
  writeFileSync(path("by-hand.db"), zstdDecompressSync(bytes.subarray(start)));
  using database = new DatabaseSync(path("by-hand.db"), { readOnly: true });
  expect(database.prepare("select count(*) as count from identities").get()).toEqual({ count: 1 });
});

test("a backup does not replace a file unless told, and leaves nothing when it fails", async () => {
  const { database, run, path, bytes, cwd } = await backedUp();
  const again = await run("backup", "b", ...database);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: .*\/b exists: .*--force\n$/) });
  expect(readFileSync(path("b"))).toEqual(bytes);
  expect(await run("backup", "b", "--force", ...database)).toMatchObject({ code: 0 });
  writeFileSync(path("b.partial-00000000.db"), "left by a killed backup");
  writeFileSync(path("no.db"), "no database at all, but text of some length");
  for (const other of ["sqlite:no.db", "sqlite:missing.db", "sqlite::memory:"])
    expect(await run("backup", "--force", "b", "--database", other)).toMatchObject({ code: 1, stdout: "" });
  for (const other of ["no.db", "platform.db"])
    expect(await run("backup", "--force", other, ...database)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is not a backup of this program\n$/),
    });
  expect(await run("backup", "c", "--rate", "0", ...database)).toMatchObject({ code: 2 });
  expect(await run("backup", "c", "--encrypt-key", "no.db", ...database)).toMatchObject({
    code: 2,
    stderr: "error: --encrypt-key: must be 64 hex digits\n",
  });
  expect((await run("backup", "c", "--database", "postgres://localhost/x")).stderr).toMatch(/pg_dump.*docs\/backup.md/);
  expect(readdirSync(cwd).sort()).toEqual(["b", "no.db", "platform.db"]);
});

test("a restore is refused for a running server and for a database that exists, which is kept when replaced", async () => {
  const { database, serve, run, path, cwd } = await backedUp();
  const server = await startPlatformForTest(serve);
  expect((await run("restore", "b", ...database)).stderr).toMatch(/is not empty: .* --force/);
  const refused = await run("restore", "b", "--force", ...database);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/open in another process: stop the server/) });
  await server.end("SIGKILL"); // its log is left
  // It has records of exports.
  const withoutAudit = ({ stdout }: { stdout: string }) => stdout.replace(/^audit_log .*\n/m, "");
  const before = withoutAudit(await run("export", "before", ...database));
  const replaced = await run("restore", "b", "--force", ...database);
  expect(replaced).toMatchObject({ code: 0 });
  const [, old] = /the database before it is (.*)\n/.exec(replaced.stderr)!;
  expect(withoutAudit(await run("export", "old", "--database", `sqlite:${old}`))).toBe(before);
  expect(readdirSync(cwd).filter((name) => /-wal|-shm|-journal|partial/.test(name))).toEqual([]);
  expect(statSync(path("platform.db")).mode & 0o777).toBe(0o600);
  await startPlatformForTest(serve);
});

test("a restore takes away the log of a database that is gone or damaged", async () => {
  const { run, path, bytes } = await backedUp();
  writeFileSync(path("other.db-wal"), "a log");
  const restored = await run("restore", "b", "--database", "sqlite:other.db");
  expect(restored).toMatchObject({ code: 0 });
  expect(existsSync(path("other.db-wal"))).toBe(false);
  writeFileSync(path("damaged.db"), "x".repeat(5000));
  writeFileSync(path("damaged.db-wal"), "a log");
  expect(await run("restore", "b", "--force", "--database", "sqlite:damaged.db")).toMatchObject({ code: 0 });
  expect(existsSync(path("damaged.db-wal"))).toBe(false);
  expect(await run("backup", "c", "--database", "sqlite:damaged.db")).toMatchObject({ code: 0 });
  expect(bytes.length).toBeGreaterThan(0);
});

test("a backup that is encrypted needs its key", async () => {
  const { run, path, database, bytes } = await backedUp("--encrypt-key", key);
  writeFileSync(path("key"), `${key}\n`);
  expect(bytes.includes("administrator")).toBe(false);
  expect((await run("restore", "--verify", "b")).stderr).toMatch(/is encrypted with the key [0-9a-f]{8}: give it/);
  expect((await run("restore", "--verify", "b", "--encrypt-key", "f".repeat(64))).stderr).toMatch(/, not with /);
  expect(await run("restore", "--verify", "b", "--encrypt-key", "key")).toMatchObject({ code: 0 });
  expect(await run("restore", "b", "--encrypt-key", "key", "--database", "sqlite:new.db")).toMatchObject({ code: 0 });
  expect(await run("backup", "plain", ...database)).toMatchObject({ code: 0 });
  expect((await run("restore", "--verify", "plain", "--encrypt-key", key)).stderr).toMatch(/is not encrypted/);
});

test.each([
  { title: "plain", options: [] },
  { title: "encrypted", options: ["--encrypt-key", key] },
])(
  "a backup ($title) that was altered, cut off or prolonged is refused, and nothing is restored",
  async ({ options }) => {
    const { run, path, bytes, cwd } = await backedUp(...options);
    const refused = async (changed: Uint8Array) => {
      writeFileSync(path("changed"), changed);
      const restored = await run("restore", "changed", ...options, "--database", "sqlite:new/platform.db");
      expect(restored).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^error: .*(backup is damaged|is not a backup)/),
      });
      expect(await run("restore", "--verify", "changed", ...options)).toMatchObject({ code: 1 });
    };
    const start = bytes.indexOf("\n", bytes.indexOf("\n") + 1) + 1;
    for (const at of [20, start - 3, start, start + 10, Math.floor((start + bytes.length) / 2), bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      await refused(changed);
    }
    for (const end of [start, start + 1, Math.floor((start + bytes.length) / 2), bytes.length - 1])
      await refused(bytes.subarray(0, end));
    await refused(Buffer.concat([bytes, Buffer.of(0)]));
    await refused(Buffer.concat([bytes, bytes.subarray(start)]));
    expect(existsSync(join(cwd, "new")) ? readdirSync(join(cwd, "new")) : []).toEqual([]);
  },
);

test("a backup of a newer version, and what is not a backup, are refused", async () => {
  const { run, path, database } = await backedUp();
  {
    using file = new DatabaseSync(path("platform.db"));
    file.exec("insert into migrations (name) values ('9999-later')");
  }
  expect(await run("backup", "later", ...database)).toMatchObject({ code: 0 });
  expect((await run("restore", "later", "--database", "sqlite:new.db")).stderr).toMatch(/newer version.*9999-later/);
  for (const content of ["", "\n\n", "{}\n\n", "SQLite format 3"]) {
    writeFileSync(path("nothing"), content);
    expect((await run("restore", "nothing", "--database", "sqlite:new.db")).stderr).toMatch(/not a backup/);
  }
  expect(existsSync(path("new.db"))).toBe(false);
});

test("a backup warns of wrong counters, and refuses a damaged database", async () => {
  const { run, path, database } = await backedUp();
  {
    using file = new DatabaseSync(path("platform.db"));
    file.exec("update counters set count = count + 1 where table_name = 'groups' and class = 'below'");
  }
  const warned = await run("backup", "wrong", ...database);
  expect(warned).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: .*doctor --repair/) });
  truncateSync(path("platform.db"), 100_000);
  expect(await run("backup", "damaged", ...database)).toMatchObject({ code: 1, stdout: "" });
  expect(existsSync(path("damaged"))).toBe(false);
});
