/** `platform import sbom`: imports the packages of an image from its software bill of materials. */
import { Command } from "commander";
import { ImportReport, type ReadNotes, readSbom } from "../../feeds/index.ts";
import { DocumentNotes, packDocument, saveImagePackages } from "../../services/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { endImport, readDocument, requireDigest, requireImage } from "./document.ts";

interface Options {
  readonly repo: string;
  readonly digest: string;
  readonly json?: boolean;
}

/** Size limit of a document. */
export const maxSbomBytes = 256 * 1024 * 1024;

export function importSbomCommand(): Command {
  const command = withSettings(new Command("sbom"), ["database"])
    .description(
      "import the packages of an image from an SPDX or CycloneDX document in JSON, also in an envelope. They replace the packages stored for the image",
    )
    .argument("<PATH>", "the SPDX or CycloneDX document")
    .requiredOption("--repo <UID>", "repo that holds the image")
    .requiredOption("--digest <DIGEST>", "digest of the image: of its index, or of the manifest of one platform")
    .option("--json", "print the summary as one JSON object");
  return command.action((path: string) =>
    withAuditedDatabase(command, async (database) => {
      const { repo, json, ...options } = command.opts<Options>();
      const digest = requireDigest(options.digest);
      const report = new ImportReport(process.stderr);
      const { sbom, document } = await readDocument(path, maxSbomBytes, report, (bytes, notes) => {
        const kept = new DocumentNotes();
        const sbom = readSbom(bytes, both(notes, kept));
        return { sbom, document: () => packDocument(bytes, sbom, kept) };
      });
      const { packages, unmatched, dependencies, unversioned } = sbom;
      const packed = await document();
      if (packed === undefined) report.unread("the document itself, which is too large to be kept", path);
      const list = { packages, unmatched, dependencies, documents: packed === undefined ? [] : [packed] };
      await requireInstallation(database);
      const result = await database.transact(async (session) => {
        await requireImage(session, repo, digest);
        return saveImagePackages(session, repo, digest, list, Date.now());
      });
      const { unread, refused } = report.summary;
      const summary = { packages: packages.length, result, unread, refused, unversioned };
      const left = `${refused > 0 ? `, refused ${refused}` : ""}${unversioned > 0 ? `, without version ${unversioned}` : ""}`;
      const text = `${packages.length} packages, ${result}, unread ${unread}${left}`;
      endImport(report, summary, text, json);
    }),
  );
}

function both(a: ReadNotes, b: ReadNotes): ReadNotes {
  return {
    refuse(path, reason) {
      a.refuse(path, reason);
      b.refuse(path, reason);
    },
    unread(member) {
      a.unread(member);
      b.unread(member);
    },
  };
}
