/** `platform audit`: formats and filters, and what commands leave in the log. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readAudit } from "../../src/audit/index.ts";
import { cefOf } from "../../src/cli/audit/cef.ts";
import { openDatabase } from "../../src/store/index.ts";
import { version } from "../../src/version.ts";
import { installed, record, write } from "./audit-records.ts";
import { settingsIn, temporaryFolder } from "./platform-process.ts";
import { runHere } from "./run-here.ts";

test("commands are in the log, with the user of the operating system", async () => {
  const { settings } = await installed();
  expect((await runHere(["token", ...settings])).code).toBe(0);
  expect((await runHere(["keys", "rotate", ...settings])).code).toBe(0);
  expect((await runHere(["keys", "rotate", ...settings])).code).toBe(1);
  expect((await runHere(["secrets", "rotate", ...settings])).code).toBe(0);
  expect((await runHere(["init", "--recover", ...settings])).code).toBe(0);
  expect((await runHere(["migrate", ...settings])).code).toBe(0);
  const { stdout } = await runHere(["audit", "--format", "jsonl", ...settings]);
  const lines = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.map(({ method, code }) => `${method} ${code}`)).toEqual([
    "cli/init OK",
    "cli/token OK",
    "cli/keys.rotate OK",
    "cli/keys.rotate FAILED_PRECONDITION",
    "cli/secrets.rotate OK",
    "cli/init OK",
    "cli/migrate OK",
  ]);
  for (const { caller } of lines) expect(caller).toMatch(/^cli:\S+@\S+$/);
});

test("a command leaves nothing in a database that is not initialised", async () => {
  const { database: settings } = settingsIn(await temporaryFolder());
  expect((await runHere(["migrate", ...settings])).code).toBe(0);
  expect((await runHere(["import", "snapshot", "/nowhere", ...settings])).code).toBe(1);
  const database = await openDatabase(settings[1]!);
  onTestFinished(() => database.close());
  for await (const line of readAudit(database.read, {})) expect.fail(line.method);
});

test("filters select by scope, result, request id and time", async () => {
  const { settings, url } = await installed();
  const database = await openDatabase(url);
  const hourAgoMs = Date.now() - 3_600_000;
  await write(database, [record({ requestId: "early" })], hourAgoMs - 1000);
  await write(database, [
    record({ requestId: "in", scope: "a/b" }),
    record({ requestId: "of", resource: "a" }),
    record({ requestId: "beside", scope: "ab" }),
    record({ requestId: "denied", code: "PERMISSION_DENIED" }),
  ]);
  await database.close();
  const requests = async (...args: string[]) => {
    const { stdout, code } = await runHere(["audit", "--json", "--caller", "me", ...args, ...settings]);
    expect(code).toBe(0);
    return stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line).requestId)
      .sort();
  };
  expect(await requests("--scope", "a")).toEqual(["in", "of"]);
  expect(await requests("--result", "permission_denied")).toEqual(["denied"]);
  expect(await requests("--request-id", "of")).toEqual(["of"]);
  expect(await requests("--until", "1h")).toEqual(["early"]);
  expect((await runHere(["audit", "--until", "soon", ...settings])).stderr).toMatch(/^error: --until must be like/);
  expect((await runHere(["audit", "--until", "1h", "--follow", ...settings])).code).toBe(2);
});

test("CEF escapes what has a meaning in it", () => {
  const line = {
    ...record({ issuer: "https://a?b=c\\d|e\nf", caller: "=" }),
    id: "1",
    time: "2026-11-05T12:00:00.000Z",
  };
  expect(cefOf(line)).toBe(
    `CEF:0|Platform API|platform|${version()}|platform.iam.v2.GroupsService/CreateGroup|platform.iam.v2.GroupsService/CreateGroup|3|` +
      "rt=1793880000000 externalId=1 suid=\\= act=platform.iam.v2.GroupsService/CreateGroup outcome=OK cnt=1 " +
      "cs1Label=issuer cs1=https://a?b\\=c\\\\d|e\\nf",
  );
  const from = record({ caller: "", method: "", code: "UNAUTHENTICATED", count: 5, address: "2001:db8:1:2::/64" });
  expect(cefOf({ ...line, ...from })).toContain(
    "|calls|calls that were only counted|7|rt=1793880000000 externalId=1 src=2001:db8:1:2:: outcome=UNAUTHENTICATED cnt=5",
  );
  expect(cefOf({ ...line, address: "192.0.2.1", userAgent: "a=b" })).toContain(
    " src=192.0.2.1 suid=\\= requestClientApplication=a\\=b ",
  );
  expect(cefOf({ ...line, method: "a|b\\c\nd", code: "UNAUTHENTICATED" })).toContain("|a\\|b\\\\c d|a\\|b\\\\c d|7|");
});

test("an export does not touch a file of others, nor one that is being written", async () => {
  const { folder, settings } = await installed();
  const other = join(folder, "notes");
  await writeFile(other, "first line\nsecond line\n");
  const refused = await runHere(["audit", "--output", other, ...settings]);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    `error: --output: line 1 of ${other} is not an audit record; choose another file\n`,
  ]);
  expect(await readFile(other, "utf8")).toBe("first line\nsecond line\n");
  const file = join(folder, "audit.jsonl");
  await writeFile(`${file}.lock`, String(process.ppid));
  expect((await runHere(["audit", "--output", file, ...settings])).stderr).toMatch(/writes .* already/);
});
