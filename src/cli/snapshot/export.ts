/** `platform export`: writes everything in the database to a file. */
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { Command } from "commander";
import { exportDocumentsCommand, exportSbomCommand } from "../../remote/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { SnapshotReport } from "./report.ts";

/** Readable by its owner only: it has the signing keys. */
const mode = 0o600;
const bufferBytes = 1024 * 1024;

export async function makeCommand(): Promise<Command> {
  const documents = await exportDocumentsCommand();
  const command = withSettings(new Command("export"), ["database"])
    .addCommand(documents)
    .addCommand(await exportSbomCommand())
    .description(
      "write everything in the database, as it is at this moment, to a file for `platform import snapshot`; compressed if its name ends with .gz. " +
        "The file contains the signing keys: keep it as safe as the database. " +
        "To move to another database, stop the server first: what it does afterwards is not in the file",
    )
    .argument("<FILE>");
  return command.action((file: string) =>
    withAuditedDatabase(command, async (database) => {
      await requireInstallation(database);
      const partial = `${file}.partial`;
      const report = new SnapshotReport("exported");
      const source = new PassThrough({ highWaterMark: bufferBytes });
      const compressed = file.endsWith(".gz") ? [createGzip({ level: 3 })] : [];
      const written = pipeline([source, ...compressed, createWriteStream(partial, { mode, flush: true })]);
      const write = async (line: string) => {
        if (!source.write(`${line}\n`)) await Promise.race([once(source, "drain"), written]);
      };
      try {
        const ends = await database.exportSnapshot(write, (progress) => report.progress(progress));
        source.end();
        await written;
        await rename(partial, file);
        report.end(ends);
      } catch (error) {
        source.destroy();
        await written.catch(() => {}); // `error` is its reason, or the reason why it ended early
        await rm(partial, { force: true });
        throw error;
      }
    }),
  );
}
