/** `platform import snapshot`: reads a file of `platform export` into an empty database. */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import { Command } from "commander";
import { withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { SnapshotReport } from "./report.ts";

export function importSnapshotCommand(): Command {
  const command = withSettings(new Command("snapshot"), ["database"])
    .description(
      "import a file of `platform export` into a database without rows, of any kind, and compare the two. " +
        "Run again after an interruption, it continues. The server must run with the same --secret-key as before, if it had one",
    )
    .argument("<FILE>");
  return command.action((file: string) =>
    withAuditedDatabase(
      command,
      async (database) => {
        await database.migrate();
        const report = new SnapshotReport("imported");
        report.end(await database.importSnapshot(linesOf(file), (progress) => report.progress(progress)));
      },
      { create: true },
    ),
  );
}

/** The lines of a file. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const read = createReadStream(file);
  const input = file.endsWith(".gz") ? read.pipe(createGunzip()) : read;
  read.on("error", (error) => input.destroy(error));
  // `readline` ends silently when its input fails.
  let failure: Error | undefined;
  input.on("error", (error: Error) => {
    failure = error;
  });
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) yield line;
  if (failure !== undefined) throw failure;
}
