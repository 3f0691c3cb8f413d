/** `platform import vuln-report`: imports what a vulnerability scanner found in an image. */
import { Command } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { ImportReport, isTagName, readVulnReport } from "../../feeds/index.ts";
import { packReport, registryContents, saveReport } from "../../services/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { endImport, readDocument, requireDigest, requireImage } from "./document.ts";

interface Options {
  readonly repo: string;
  readonly digest?: string;
  readonly tag: readonly string[];
  readonly json?: boolean;
}

const maxBytes = 256 * 1024 * 1024;

export function importVulnReportCommand(): Command {
  const command = withSettings(new Command("vuln-report"), ["database"])
    .description(
      "import a report of Grype or Trivy about an image, in JSON; a report that is stored already is replaced",
    )
    .argument("<PATH>", "the report: `grype IMAGE -o json` or `trivy image --format json IMAGE`")
    .requiredOption("--repo <UID>", "repo that holds the image")
    .option("--digest <DIGEST>", "digest of the image; default: the one that the report names")
    .option("--tag <NAME>", "tag that had the digest, beside those that have it now; may be repeated", collect, [])
    .option("--json", "print the summary as one JSON object");
  return command.action((path: string) =>
    withAuditedDatabase(command, async (database) => {
      const options = command.opts<Options>();
      const report = new ImportReport(process.stderr);
      const { file, scan } = await readDocument(path, maxBytes, report, (bytes, notes) => ({
        file: bytes,
        scan: readVulnReport(bytes, notes),
      }));
      const digest = digestOf(options.digest, scan.digests);
      for (const tag of options.tag) if (!isTagName(tag)) throw new CommandFailure(`--tag: ${tag} is not a tag name`);
      await requireInstallation(database);
      const nowMs = Date.now();
      const tags = [...new Set([...options.tag, ...(await tagsOf(database.read, options.repo, digest))])].sort();
      const scanMs = scan.createMs ?? nowMs;
      const packed = await packReport({ ...scan, repoUid: options.repo, digest, scanMs, tags, file });
      const result = await database.transact(async (session) => {
        await requireImage(session, options.repo, digest);
        return saveReport(session, packed, nowMs);
      });
      const { refused, unread } = report.summary;
      const counts = Object.entries(packed.scan.ids).map(([severity, ids]): [string, number] => [severity, ids.length]);
      const summary = { result, findings: scan.findings.length, refused, unread, ...Object.fromEntries(counts) };
      const text = Object.entries(summary).map(([name, value]) => (name === "result" ? value : `${name} ${value}`));
      endImport(report, summary, text.join(", "), options.json);
    }),
  );
}

function digestOf(given: string | undefined, named: readonly string[]): string {
  const [digest = "", ...others] = given === undefined ? [...new Set(named)] : [given];
  if (digest === "") throw new CommandFailure("the report names no digest of the image; name it by --digest");
  if (others.length > 0)
    throw new CommandFailure(
      `the report names several digests; name one by --digest: ${[digest, ...others].join(", ")}`,
    );
  return requireDigest(digest);
}

async function tagsOf(session: ReadSession, repo: string, digest: string): Promise<string[]> {
  const names: string[] = [];
  for await (const tags of registryContents.tags(session, repo, digest)) names.push(...tags.map(({ name }) => name));
  return names;
}

function collect(value: string, all: readonly string[]): string[] {
  return [...all, value];
}
