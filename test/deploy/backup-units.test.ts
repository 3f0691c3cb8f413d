/** The units of systemd that back up every night, and what they run. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cleanEnvironment, repository, settingsIn, temporaryFolder } from "../cli/platform-process.ts";
import { programEntry } from "../cli/program.ts";
import { runHere } from "../cli/run-here.ts";

const units = ["platform-backup.service", "platform-backup.timer"].map((name) =>
  join(repository, "deploy/systemd", name),
);
const missing = spawnSync("systemd-analyze", ["--version"]).error?.message;
if (missing !== undefined) console.warn(`the units of backups are not verified: ${missing}`);

test.skipIf(missing !== undefined)("the units are valid", () => {
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", ...units], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

test("their commands back up, and remove only old backups", async () => {
  const folder = await temporaryFolder();
  const state = join(folder, "platform-backup");
  mkdirSync(state);
  const { database } = settingsIn(folder);
  expect((await runHere(["init", ...database])).code).toBe(0);
  writeFileSync(join(folder, "platform.json"), JSON.stringify({ database: database[1] }));
  const old = new Date(Date.now() - 40 * 86_400_000);
  for (const name of ["platform-20200101T000000Z.backup", "mine.backup"]) {
    writeFileSync(join(state, name), "");
    utimesSync(join(state, name), old, old);
  }
  const program = `${process.execPath} ${programEntry()}`;
  const unit = readFileSync(units[0]!, "utf8");
  for (const [, command] of unit.matchAll(/^ExecStart(?:Post)?=\/bin\/sh -c '(.*)'$/gm)) {
    const unescaped = command!.replaceAll("%%", "%").replaceAll("$$", "$").replace("/usr/bin/platform", program);
    const env = {
      ...cleanEnvironment(),
      CREDENTIALS_DIRECTORY: folder,
      STATE_DIRECTORY: `${folder}/platform:${state}`,
    };
    execFileSync("/bin/sh", ["-c", unescaped], { env, cwd: folder, stdio: "pipe" });
  }
  const kept = readdirSync(state).sort();
  expect(kept).toEqual(["mine.backup", expect.stringMatching(/^platform-20\d{6}T\d{6}Z\.backup$/)]);
  expect((await runHere(["restore", "--verify", join(state, kept[1]!)])).code).toBe(0);
});
