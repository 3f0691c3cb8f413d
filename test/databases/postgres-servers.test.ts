/** Which servers are used, and which are refused, with what to do about it. */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { checkServer } from "../../src/store/engines/postgres/server-check.ts";
import { openDatabase, RefusedError, UnavailableError } from "../../src/store/index.ts";
import { onPostgres } from "./databases.ts";
import { identityRow, identities as table } from "./tables.ts";

onPostgres("a PostgreSQL server", (database) => {
  /** The database's URL with other parts. */
  const urlWith = (change: (url: URL) => void) => {
    const url = new URL(database().url);
    change(url);
    return url.href;
  };
  const withHosts = (...hosts: string[]) => database().url.replace(/@[^/]*/, `@${hosts.join(",")}`);

  test("is refused for another encoding than UTF8", async () => {
    const name = `latin_${randomBytes(6).toString("hex")}`;
    await database().sql(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
    try {
      const opened = openDatabase(urlWith((url) => (url.pathname = `/${name}`)));
      await expect(opened).rejects.toThrow(RefusedError);
      await expect(opened).rejects.toThrow(/has the encoding LATIN1; create one with UTF8: create database/);
    } finally {
      await database().sql(`drop database ${name} with (force)`);
    }
  });

  test("is refused for a user who may not create tables", async () => {
    const role = `role_${randomBytes(6).toString("hex")}`;
    await database().sql("revoke all on schema public from public");
    await database().sql(`create role ${role} login password 'secret'`);
    await database().sql("drop table if exists migration_lock");
    const db = await openDatabase(
      urlWith((url) => {
        url.username = role;
        url.password = "secret";
      }),
    );
    try {
      for (const grant of ["", `grant usage on schema public to ${role}; revoke create on schema public from public`]) {
        await database().sql(grant);
        await expect(db.migrate()).rejects.toThrow(/lacks a right: .*; make it the owner of the database/);
      }
    } finally {
      await db.close();
      await database().sql(`drop owned by ${role}; drop role ${role}`);
    }
  });

  test("is found among several hosts", async () => {
    const { host } = new URL(database().url);
    const db = await openDatabase(withHosts("127.0.0.1:1", host, "127.0.0.1:2"));
    onTestFinished(() => db.close());
    await db.transact((session) => session.insert(table, identityRow("a")));
    expect((await db.read.get(table, "a"))?.uid).toBe("a");
    await expect(openDatabase(withHosts("127.0.0.1:1", "127.0.0.1:2"))).rejects.toThrow(
      /127\.0\.0\.1:1\/.*, 127\.0\.0\.1:2\/.* cannot be reached/,
    );
  });

  test("is not used while it is read-only, if it must take writes", async () => {
    const { host, pathname } = new URL(database().url);
    await database().sql(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`);
    const either = openDatabase(withHosts(host, "127.0.0.1:1"));
    await expect(either).rejects.toThrow(UnavailableError);
    const one = openDatabase(`${database().url}?target_session_attrs=read-write`);
    await expect(one).rejects.toThrow(/it is read-only/);
    const standby = openDatabase(`${database().url}?target_session_attrs=standby`);
    await expect(standby).rejects.toThrow(/target_session_attrs=standby; this server writes, so use read-write/);
  });
});

test.each([
  ["130000", "13.9"],
  ["", "unknown"],
])("a server of version %s is refused", async (number, version) => {
  const described = { number, version, encoding: "UTF8", database: "d", pid: 1, read_only: false };
  const client = { processID: 1, query: async () => ({ rows: [described] }) } as unknown as pg.ClientBase;
  await expect(checkServer(client)).rejects.toThrow(
    `the database server has version ${version}; PostgreSQL 14 or newer is needed`,
  );
});
