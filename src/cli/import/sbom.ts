/** `platform import sbom`: imports the packages of an image from its software bill of materials. */
import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { Command } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { FeedRefusal, ImportReport, isDigest, readSbom } from "../../feeds/index.ts";
import { registryContents, saveImagePackages } from "../../services/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";

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
      const { repo, digest, json = false } = command.opts<Options>();
      if (!isDigest(digest)) throw new CommandFailure("--digest must be sha256: and 64 lower-case hex digits");
      const report = new ImportReport(process.stderr);
      const { packages, unversioned } = await readDocument(path, report);
      await requireInstallation(database);
      const result = await database.transact(async (session) => {
        if (!(await registryContents.holdRepo(session, repo)))
          throw new CommandFailure(`--repo: there is no repo ${repo}`);
        if (!(await registryContents.hasDigest(session, repo, digest)))
          throw new CommandFailure(`--digest: the repo has no image and no tag with ${digest}`);
        return saveImagePackages(session, repo, digest, packages, Date.now());
      });
      report.end();
      const { unread, refused } = report.summary;
      const summary = { packages: packages.length, result, unread, refused, unversioned };
      const left = `${refused > 0 ? `, refused ${refused}` : ""}${unversioned > 0 ? `, without version ${unversioned}` : ""}`;
      const text = `${packages.length} packages, ${result}, unread ${unread}${left}`;
      process.stdout.write(`${json ? JSON.stringify(summary) : text}\n`);
      if (refused > 0) throw new CommandFailure(`${refused} refused`);
    }),
  );
}

async function readDocument(path: string, report: ImportReport) {
  const { size } = await stat(path);
  if (size > maxSbomBytes) throw new CommandFailure(`${path}: is larger than ${maxSbomBytes} bytes`);
  try {
    return readSbom(await readFile(path), {
      refuse: (at, reason) => report.refuse(`${basename(path)}: ${at}`, reason),
      unread: (member) => report.unread(member, basename(path)),
    });
  } catch (error) {
    if (error instanceof FeedRefusal) throw new CommandFailure(`${path}: ${error.message}`);
    throw error;
  }
}
