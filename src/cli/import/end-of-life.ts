/** `platform import eol`: imports when the versions of a product reach their end of life. */
import { readFile, stat } from "node:fs/promises";
import { Command } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { FeedRefusal, ImportReport, readProduct } from "../../feeds/index.ts";
import { saveProduct } from "../../services/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";

interface Options {
  readonly product?: string;
  readonly json?: boolean;
}

const maxBytes = 16 * 1024 * 1024;

export function importEolCommand(): Command {
  const command = withSettings(new Command("eol"), ["database"])
    .description("import the versions of a product and their ends of life, as endoflife.date publishes them in JSON")
    .argument("<PATH>", "the document of the product: `/api/python.json` or `/api/v1/products/python`")
    .option("--product <NAME>", "name of the product, as the last part of the names of its repos; default: its own")
    .option("--json", "print the summary as one JSON object");
  return command.action((path: string) =>
    withAuditedDatabase(command, async (database) => {
      const { product: given, json = false } = command.opts<Options>();
      const report = new ImportReport(process.stderr);
      const read = await readDocument(path, report);
      const name = given ?? read.name;
      if (!/^[^\p{C}/]{1,255}$/u.test(name))
        throw new CommandFailure("the document does not name its product; name it by --product");
      await requireInstallation(database);
      const result = await database.transact((session) =>
        saveProduct(session, { name, cycles: read.cycles }, Date.now()),
      );
      report.end();
      const { refused } = report.summary;
      const summary = { product: name, result, versions: read.cycles.length, refused };
      const text = `${name}: ${result}, ${summary.versions} versions, ${refused} refused`;
      process.stdout.write(`${json ? JSON.stringify(summary) : text}\n`);
      if (refused > 0) throw new CommandFailure(`${refused} refused`);
    }),
  );
}

async function readDocument(path: string, report: ImportReport) {
  const { size } = await stat(path);
  if (size > maxBytes) throw new CommandFailure(`${path}: is larger than ${maxBytes} bytes`);
  try {
    return readProduct(await readFile(path), {
      refuse: (name, reason) => report.refuse(name, reason),
      unread: () => {},
    });
  } catch (error) {
    if (error instanceof FeedRefusal) throw new CommandFailure(`${path}: ${error.message}`);
    throw error;
  }
}
