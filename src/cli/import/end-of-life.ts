/** `platform import eol`: imports when the versions of a product reach their end of life. */
import { Command } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { ImportReport, readProduct } from "../../feeds/index.ts";
import { saveProduct } from "../../services/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { endImport, readDocument } from "./document.ts";

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
      const { product: given, json } = command.opts<Options>();
      const report = new ImportReport(process.stderr);
      const read = await readDocument(path, maxBytes, report, readProduct);
      const name = given ?? read.name;
      if (!/^[^\p{C}/]{1,255}$/u.test(name))
        throw new CommandFailure("the document does not name its product; name it by --product");
      await requireInstallation(database);
      const result = await database.transact((session) =>
        saveProduct(session, { name, cycles: read.cycles }, Date.now()),
      );
      const { refused } = report.summary;
      const summary = { product: name, result, versions: read.cycles.length, refused };
      const text = `${name}: ${result}, ${summary.versions} versions, ${refused} refused`;
      endImport(report, summary, text, json);
    }),
  );
}
