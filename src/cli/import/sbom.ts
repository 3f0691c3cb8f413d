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

const maxBytes = 256 * 1024 * 1024;

export function importSbomCommand(): Command {
  const command = withSettings(new Command("sbom"), ["database"])
    .description(
      "import the packages of an image from an SPDX 2 or CycloneDX document in JSON. They replace the packages stored for the image",
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
      const packages = await readPackages(path, report);
      await requireInstallation(database);
      const result = await database.transact(async (session) => {
        if (!(await registryContents.holdRepo(session, repo)))
          throw new CommandFailure(`--repo: there is no repo ${repo}`);
        if (!(await registryContents.hasDigest(session, repo, digest)))
          throw new CommandFailure(`--digest: the repo has no image and no tag with ${digest}`);
        return saveImagePackages(session, repo, digest, packages, Date.now());
      });
      report.end();
      const { unread } = report.summary;
      const text = `${packages.length} packages, ${result}, unread ${unread}`;
      process.stdout.write(`${json ? JSON.stringify({ packages: packages.length, result, unread }) : text}\n`);
    }),
  );
}

async function readPackages(path: string, report: ImportReport) {
  const { size } = await stat(path);
  if (size > maxBytes) throw new CommandFailure(`${path}: is larger than ${maxBytes} bytes`);
  try {
    return readSbom(await readFile(path), (member) => report.unread(member, basename(path)));
  } catch (error) {
    if (error instanceof FeedRefusal) throw new CommandFailure(`${path}: ${error.message}`);
    throw error;
  }
}
