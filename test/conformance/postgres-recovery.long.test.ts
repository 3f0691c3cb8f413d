/**
 * Backups of PostgreSQL as docs/backup.md describes them: a dump, and a recovery to a point in time from a base backup
 * and the archived log. A server on the restored database has exactly what was acknowledged before.
 */

import { execFileSync, type SpawnSyncReturns } from "node:child_process";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { startPlatform } from "../cli/platform-process.ts";
import { restClient } from "../cli/rest-client.ts";
import { runHere } from "../cli/run-here.ts";
import { runSql } from "../databases/run-sql.ts";
import { freePort } from "../free-port.ts";
import { emptyLedger, everything, startWorkload } from "./workload.ts";

const versions = "/usr/lib/postgresql";
/** Debian's newest programs. The npm package of other tests has no pg_dump. */
const bin = existsSync(versions)
  ? join(versions, readdirSync(versions).sort((a, b) => Number(b) - Number(a))[0]!, "bin")
  : undefined;
const missing = bin === undefined || !existsSync(join(bin, "pg_basebackup")) ? `${versions}/*/bin/pg_basebackup` : "";
if (missing !== "") console.warn(`the recovery of PostgreSQL is not tested: there is no ${missing}`);

/** PostgreSQL refuses to run as root. */
const user = process.getuid?.() === 0 && missing === "" ? { uid: idOf("-u"), gid: idOf("-g") } : {};

function idOf(kind: "-u" | "-g"): number {
  return Number(execFileSync("id", [kind, "postgres"], { encoding: "utf8" }));
}

function run(program: string, ...args: readonly string[]): void {
  try {
    // The output goes to a file, which a server that stays does not keep open.
    execFileSync(join(bin!, program), args, { ...user, cwd: tmpdir(), stdio: ["ignore", "ignore", "pipe"] });
  } catch (error) {
    throw new Error(`${program}: ${(error as SpawnSyncReturns<Buffer>).stderr}`);
  }
}

/** A running server of PostgreSQL in a folder with data. */
async function start(data: string, settings: Readonly<Record<string, string>>): Promise<string> {
  const port = await freePort();
  const all = { ...settings, port, listen_addresses: "127.0.0.1", unix_socket_directories: "", fsync: "off" };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`);
  appendFileSync(join(data, "postgresql.conf"), lines.join(""));
  run("pg_ctl", "-D", data, "-w", "-l", `${data}.log`, "start");
  onTestFinished(() => stop(data));
  return `postgres://postgres@127.0.0.1:${port}/platform`;
}

function stop(data: string): void {
  if (existsSync(join(data, "postmaster.pid"))) run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop");
}

async function serve(database: string, token: string) {
  const server = await startPlatform(["--database", database, "--listen", "127.0.0.1:0", "--log-level", "error"]);
  onTestFinished(async () => void (await server.end("SIGKILL")));
  return { server, rest: restClient(server.baseUrl, token) };
}

test.skipIf(missing !== "")(
  "a dump, and a recovery to a time before a mistake, have what was acknowledged",
  {
    timeout: 600_000,
  },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "platform-recovery-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [primary, archive, base] = ["primary", "archive", "base"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    mkdirSync(archive);
    for (const path of [folder, archive]) if (user.uid !== undefined) chownSync(path, user.uid, user.gid);
    run("initdb", "-D", primary, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync");
    const url = await start(primary, {
      archive_mode: "on",
      archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
      archive_timeout: "60s",
    });
    const admin = url.replace("/platform", "/postgres");
    await runSql(admin, "create database platform");
    const init = await runHere(["init", "--json", "--database", url]);
    const { token, rootGroupUid: root } = JSON.parse(init.stdout) as { token: string; rootGroupUid: string };

    const { server, rest } = await serve(url, token);
    const viewerRole = (await rest.get("/iam/v2/roles?name=viewer")).body.roles[0].uid;
    const first = startWorkload(rest, { root, viewerRole }, emptyLedger(), 4);
    await setTimeout(500);
    run("pg_basebackup", "-d", admin, "-D", base, "-X", "stream", "-c", "fast", "--no-sync");
    run("pg_dump", "-d", url, "-F", "c", "-f", join(folder, "under-load.dump"));
    await setTimeout(500);
    expect(await first.stop()).toEqual([]);

    // The moment to come back to.
    const before = await everything(rest);
    const [{ time } = {}] = await runSql(url, "select clock_timestamp()::text as time");
    const exported = async (database: string) =>
      (await runHere(["export", join(folder, "snapshot"), "--database", database])).stdout;
    run("pg_dump", "-d", url, "-F", "c", "-f", join(folder, "quiet.dump"));
    const digests = await exported(url);
    await setTimeout(1000);

    // The mistake, amid further writes.
    const second = startWorkload(rest, { root, viewerRole }, emptyLedger(), 4);
    const organisation = [...before.keys()].find((uid) => !uid.includes("/") && uid !== root)!;
    expect((await rest.delete(`/iam/v2/groups/${organisation}`)).status).toBe(200);
    await setTimeout(500);
    await second.stop();
    const [{ name: switched } = {}] = await runSql(url, "select pg_walfile_name(pg_switch_wal()) as name");
    const archived = async () => (await runSql(url, "select last_archived_wal as name from pg_stat_archiver"))[0]?.name;
    await expect.poll(async () => String(await archived()) >= String(switched)).toBe(true);
    expect((await everything(rest)).has(organisation)).toBe(false);
    await server.end("SIGTERM");

    // The dump.
    await runSql(admin, "create database dumped");
    const dumped = url.replace("/platform", "/dumped");
    run("pg_restore", "-d", dumped, "--exit-on-error", join(folder, "quiet.dump"));
    expect(await exported(dumped)).toBe(digests);
    await runSql(admin, "create database under_load");
    const underLoad = url.replace("/platform", "/under_load");
    run("pg_restore", "-d", underLoad, "--exit-on-error", join(folder, "under-load.dump"));
    const checked = await runHere(["doctor", "--database", underLoad]);
    expect(checked, checked.stdout).toMatchObject({ code: 0 });

    // The recovery, with nothing of the old server but its archive.
    stop(primary);
    rmSync(primary, { recursive: true });
    writeFileSync(join(base, "recovery.signal"), "");
    const recovered = await start(base, {
      archive_mode: "off",
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_time: String(time),
      recovery_target_action: "promote",
    });
    await expect
      .poll(async () => (await runSql(recovered, "select pg_is_in_recovery() as is"))[0]?.is, { timeout: 60_000 })
      .toBe(false);
    const examined = await runHere(["doctor", "--database", recovered]);
    expect(examined, examined.stdout).toMatchObject({ code: 0 });
    const again = await serve(recovered, token);
    expect(await everything(again.rest)).toEqual(before);
    expect((await again.rest.get(`/iam/v2/groups/${organisation}`)).status).toBe(200);
    console.log(`${before.size} rows recovered to ${time}`);
  },
);
