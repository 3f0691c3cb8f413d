/**
 * A backup that is made while a server is busy has everything that was acknowledged before, and nothing by halves. A
 * backup or a restore that is killed leaves the original as it was.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { campaign } from "../campaign.ts";
import { cleanEnvironment, runPlatform, startPlatform } from "../cli/platform-process.ts";
import { programEntry } from "../cli/program.ts";
import { restClient } from "../cli/rest-client.ts";
import { runHere } from "../cli/run-here.ts";
import { emptyLedger, everything, startWorkload } from "./workload.ts";

const { backups, kills } = campaign({ short: { backups: 1, kills: 2 }, full: { backups: 2, kills: 6 } });

/** A folder with an initialised database, and its name there. */
async function folderWithDatabase() {
  const cwd = await mkdtemp(join(tmpdir(), "platform-backup-"));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const init = await runHere(["init", "--json", "--database", "sqlite:platform.db"], { cwd });
  const { token, rootGroupUid: root } = JSON.parse(init.stdout) as { token: string; rootGroupUid: string };
  const run = (...args: readonly string[]) => runHere(args, { cwd });
  const start = async (name: string) => {
    const settings = ["--database", `sqlite:${name}`, "--listen", "127.0.0.1:0", "--log-level", "error"];
    const server = await startPlatform(settings, { cwd });
    onTestFinished(async () => void (await server.end("SIGKILL")));
    return { server, rest: restClient(server.baseUrl, token) };
  };
  return { cwd, root, run, start };
}

/** The digests of all tables but the audit log, which has records of these commands. */
async function digests(run: (...args: readonly string[]) => Promise<{ stdout: string }>, name: string) {
  const { stdout } = await run("export", `${name}.snapshot`, "--database", `sqlite:${name}`);
  expect(stdout).toMatch(/sha256/);
  return stdout.replace(/^audit_log .*\n/m, "");
}

test(`${backups} backups of a busy server have what was acknowledged before, and restored elsewhere every list`, {
  timeout: 600_000,
}, async () => {
  const { cwd, root, run, start } = await folderWithDatabase();
  const { server, rest } = await start("platform.db");
  const viewerRole = (await rest.get("/iam/v2/roles?name=viewer")).body.roles[0].uid;
  const ledger = emptyLedger();
  const workload = startWorkload(rest, { root, viewerRole }, ledger, 8);
  for (let round = 0; round < backups; round++) {
    const enough = ledger.acknowledged + 100;
    while (ledger.acknowledged < enough) await setTimeout(5);
    const before = new Map([...ledger.rows].map(([uid, { content }]) => [uid, content]));
    const deleted = new Set(ledger.deleted);
    const during = ledger.acknowledged;
    const made = await runPlatform(
      ["backup", `${round}.backup`, "--rate", `${2 + 10 * round}`, "--database", "sqlite:platform.db"],
      {
        cwd,
      },
    );
    expect(made, made.stderr).toMatchObject({ code: 0 });
    expect(ledger.acknowledged).toBeGreaterThan(during);
    const unchanged = [...before].filter(([uid, content]) => ledger.rows.get(uid)?.content === content);
    expect(unchanged.length).toBeGreaterThan(0);
    const restored = await run("restore", `${round}.backup`, "--database", `sqlite:${round}.db`);
    expect(restored, restored.stderr).toMatchObject({ code: 0 });
    const examined = await run("doctor", "--deep", "--database", `sqlite:${round}.db`);
    expect(examined, examined.stdout).toMatchObject({ code: 0 });
    const copy = await start(`${round}.db`);
    const found = await everything(copy.rest);
    expect(unchanged.filter(([uid, content]) => found.get(uid) !== content)).toEqual([]);
    expect([...deleted].filter((uid) => found.has(uid))).toEqual([]);
    await copy.server.end("SIGTERM");
  }
  expect(await workload.stop()).toEqual([]);
  // What the server does without being called, such as forgetting what was delivered, ends with it.
  const whole = await everything(rest);
  await server.end("SIGTERM");
  expect(await run("backup", "last.backup", "--database", "sqlite:platform.db")).toMatchObject({ code: 0 });
  expect(await run("restore", "last.backup", "--database", "sqlite:last.db")).toMatchObject({ code: 0 });
  expect(await digests(run, "last.db")).toBe(await digests(run, "platform.db"));
  const copy = await start("last.db");
  expect(await everything(copy.rest)).toEqual(whole);
});

test(`${kills} kills of a backup and of a restore leave the original, and the next run works`, {
  timeout: 600_000,
}, async () => {
  const { cwd, run } = await folderWithDatabase();
  const on = ["--database", "sqlite:platform.db"];
  const original = await digests(run, "platform.db");
  expect(await run("backup", "old.backup", ...on)).toMatchObject({ code: 0 });
  expect(await run("keys", "rotate", ...on)).toMatchObject({ code: 0 });
  const changed = await digests(run, "platform.db");
  expect(changed).not.toBe(original);

  const backup = ["backup", "b", "--force", ...on];
  let workMs = await killedAtWork(cwd, backup, Number.POSITIVE_INFINITY);
  expect(await run("restore", "--verify", "b")).toMatchObject({ code: 0 });
  for (let kill = 0; kill < kills; kill++) {
    await killedAtWork(cwd, backup, Math.random() * workMs);
    expect(await run("restore", "--verify", "b")).toMatchObject({ code: 0 });
  }
  expect(await digests(run, "platform.db")).toBe(changed);
  expect(await run(...backup)).toMatchObject({ code: 0 });

  const restore = ["restore", "old.backup", "--force", ...on];
  workMs = await killedAtWork(cwd, restore, Number.POSITIVE_INFINITY);
  let replaced = 0;
  for (let kill = 0; kill < kills; kill++) {
    expect(await run("restore", "b", "--force", ...on)).toMatchObject({ code: 0 });
    await killedAtWork(cwd, restore, Math.random() * workMs);
    const found = await digests(run, "platform.db");
    expect([original, changed]).toContain(found);
    if (found === original) replaced++;
  }
  console.log(`${kills} kills of a restore: ${replaced} after the replacement`);
  expect(await run(...restore)).toMatchObject({ code: 0 });
  expect(await digests(run, "platform.db")).toBe(original);
  expect(existsSync(join(cwd, "platform.db-wal"))).toBe(false);
});

/**
 * Runs a command and kills it some time after it has made its first temporary file. Returns how long it ran since then,
 * in milliseconds.
 */
async function killedAtWork(cwd: string, args: readonly string[], ms: number): Promise<number> {
  const left = new Set(readdirSync(cwd));
  const child = spawn(process.execPath, [programEntry(), ...args], {
    cwd,
    env: cleanEnvironment(),
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  const isAtWork = () => readdirSync(cwd).some((name) => name.includes(".partial-") && !left.has(name));
  while (child.exitCode === null && !isAtWork()) await setTimeout(1);
  const startMs = performance.now();
  if (Number.isFinite(ms)) {
    await Promise.race([setTimeout(ms), ended]);
    child.kill("SIGKILL");
  }
  await ended;
  return performance.now() - startMs;
}
