/** `platform doctor`: checks an installation, and says what to do. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { readInstallation } from "../../app/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { type Config, flagOf, readSettings } from "../../config/index.ts";
import { printable, printableJson } from "../../log-text.ts";
import { DamagedError, type Database, databasePath } from "../../store/index.ts";
import { recordOf } from "../command-record.ts";
import { openForCommand } from "../database.ts";
import { explain } from "../failure.ts";
import { settingsOf, sourcesOf, withSettings } from "../settings.ts";
import { checkCertificate } from "./certificate.ts";
import {
  checkAuditLog,
  checkClock,
  checkCounters,
  checkDeliveries,
  checkIntegrity,
  checkSchema,
  checkSecrets,
  checkSigningKeys,
} from "./database.ts";
import { checkFeeds } from "./feeds.ts";
import { checkDatabaseFiles, checkDiskSpace, checkFileRights, checkFileSystem, type PrivateFile } from "./files.ts";
import { type CheckResult, countText, failure, skipped, warning } from "./finding.ts";
import { checkIssuers, checkSinks } from "./network.ts";

/** What a check finds, under its name. */
interface Finding extends CheckResult {
  readonly check: string;
}

interface Options {
  readonly deep?: boolean;
  readonly repair?: boolean;
  readonly json?: boolean;
}

export function makeCommand(): Command {
  const command = withSettings(new Command("doctor"))
    .description(
      "check files, disk, clock, schema, keys, certificate, issuers, sinks, counters, deliveries and feeds with the settings of " +
        "the server, and say what to do; the status is 1 if something failed. Nothing is changed without --repair",
    )
    .option("--deep", "also read the whole SQLite file for damage")
    .option("--repair", "correct counters that differ from the rows")
    .option("--json", "print one JSON object for each check");
  return command.action(async () => {
    const config = settingsOf(command);
    const options = command.opts<Options>();
    const counts = { ok: 0, skipped: 0, warning: 0, failure: 0 };
    for await (const finding of findings(config, command, options)) {
      counts[finding.state]++;
      process.stdout.write(`${options.json ? printableJson(finding) : textOf(finding)}\n`);
    }
    const done = `${counts.failure} failed, ${countText(counts.warning, "warning")}`;
    if (counts.failure > 0) throw new CommandFailure(done);
    console.error(done);
  });
}

function textOf({ check, state, message, advice, details = [] }: Finding): string {
  const indent = " ".repeat(26);
  const lines = [
    ...details.map((detail) => `${indent}- ${detail}`),
    ...(advice === undefined ? [] : [`${indent}→ ${advice}`]),
  ];
  return [`${state.padEnd(8)}  ${check.padEnd(14)}  ${message}`, ...lines].map(printable).join("\n");
}

async function* findings(config: Config, command: Command, options: Options): AsyncGenerator<Finding> {
  const path = databasePath(config.database);
  yield { check: "file rights", ...checkFileRights(privateFiles(config, command)) };
  if (path !== undefined) {
    const files = checkDatabaseFiles(path);
    yield { check: "database files", ...files };
    if (files.state !== "failure") yield { check: "file system", ...checkFileSystem(path) };
    if (files.state !== "failure") yield { check: "disk space", ...checkDiskSpace(path) };
  }
  yield { check: "certificate", ...checkCertificate(config, Date.now()) };
  let database: Database;
  try {
    database = await openForCommand(config, false);
  } catch (error) {
    yield {
      check: "database",
      ...failure(explain(error), "docs/operations.md, database outages; nothing in it was checked"),
    };
    return;
  }
  try {
    yield* databaseFindings(database, config, command, options);
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    yield {
      check: "database",
      ...failure(error.message, "docs/operations.md, damaged files; the other checks need what is damaged"),
    };
  } finally {
    await database.close();
  }
}

async function* databaseFindings(
  database: Database,
  config: Config,
  command: Command,
  { deep, repair }: Options,
): AsyncGenerator<Finding> {
  yield { check: "integrity", ...(deep ? await checkIntegrity(database) : skipped("--deep reads the whole file")) };
  const schema = await checkSchema(database);
  yield { check: "schema", ...schema };
  if (schema.state !== "ok") return;
  const installation = await readInstallation(database.read);
  if (installation === undefined) {
    yield {
      check: "installation",
      ...warning("the database is empty", "`platform serve` or `platform init` initialises it"),
    };
    return;
  }
  yield { check: "signing keys", ...checkSigningKeys(installation, Date.now()) };
  yield { check: "secrets", ...(await checkSecrets(database, config)) };
  yield { check: "counters", ...(await checkCounters(database, repair === true)) };
  if (repair) await recordOf(command, database).write();
  yield { check: "deliveries", ...(await checkDeliveries(database)) };
  yield { check: "audit log", ...checkAuditLog(installation, config) };
  yield { check: "feeds", ...(await checkFeeds(database, Date.now())) };
  const { finding, aheadMs } = await checkIssuers(database, config, installation.issuerUrl);
  yield { check: "issuers", ...finding };
  yield { check: "sinks", ...(await checkSinks(database, config)) };
  yield { check: "clock", ...(await checkClock(database, config.database, aheadMs)) };
}

/** The files with secrets that the settings name. */
function privateFiles(config: Config, command: Command): readonly PrivateFile[] {
  const sources = sourcesOf(command);
  const { given } = readSettings(sources);
  const inFile: object = sources.file === undefined ? {} : JSON.parse(readFileSync(sources.file, "utf8"));
  const database = databasePath(config.database);
  const files = database === undefined ? [] : [database, `${database}-wal`, `${database}-shm`];
  const secrets: readonly (keyof Config)[] = ["secretKey", "pageTokenKey", "database"];
  return [
    ...files.map((path) => ({ setting: flagOf("database"), path, isShared: false })),
    ...(["initTokenFile", "registrySecret", "registryCredentials"] as const).map((key) => ({
      setting: flagOf(key),
      path: given[key].text,
      isShared: false,
    })),
    { setting: flagOf("tlsKey"), path: config.tlsKey, isShared: true },
    { setting: "--config", path: secrets.some((key) => key in inFile) ? sources.file : undefined, isShared: true },
  ].flatMap(({ path, ...file }) => (path === undefined ? [] : [{ ...file, path }]));
}
