/** `platform import vuln-report`: imports what a vulnerability scanner found in an image. */
import { readFile, stat } from "node:fs/promises";
import { Command } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { FeedRefusal, ImportReport, isDigest, isTagName, readVulnReport } from "../../feeds/index.ts";
import { packReport, registryContents, saveReport } from "../../services/index.ts";
import type { ReadSession, WriteSession } from "../../store/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";

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
      const { file, scan } = await readReport(path, report);
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
      report.end();
      const { refused, unread } = report.summary;
      const counts = Object.entries(packed.scan.ids).map(([severity, ids]): [string, number] => [severity, ids.length]);
      const summary = { result, findings: scan.findings.length, refused, unread, ...Object.fromEntries(counts) };
      const text = Object.entries(summary).map(([name, value]) => (name === "result" ? value : `${name} ${value}`));
      process.stdout.write(`${options.json === true ? JSON.stringify(summary) : text.join(", ")}\n`);
      if (refused > 0) throw new CommandFailure(`${refused} refused`);
    }),
  );
}

async function readReport(path: string, report: ImportReport) {
  const { size } = await stat(path);
  if (size > maxBytes) throw new CommandFailure(`${path}: is larger than ${maxBytes} bytes`);
  const file = await readFile(path);
  try {
    const scan = readVulnReport(file, {
      refuse: (name, reason) => report.refuse(name, reason),
      unread: (member) => report.unread(member, path),
    });
    return { file, scan };
  } catch (error) {
    if (error instanceof FeedRefusal) throw new CommandFailure(`${path}: ${error.message}`);
    throw error;
  }
}

function digestOf(given: string | undefined, named: readonly string[]): string {
  const [digest = "", ...others] = given === undefined ? [...new Set(named)] : [given];
  if (digest === "") throw new CommandFailure("the report names no digest of the image; name it by --digest");
  if (others.length > 0)
    throw new CommandFailure(
      `the report names several digests; name one by --digest: ${[digest, ...others].join(", ")}`,
    );
  if (!isDigest(digest)) throw new CommandFailure("--digest must be sha256: and 64 lower-case hex digits");
  return digest;
}

async function tagsOf(session: ReadSession, repo: string, digest: string): Promise<string[]> {
  const names: string[] = [];
  for await (const tags of registryContents.tags(session, repo, digest)) names.push(...tags.map(({ name }) => name));
  return names;
}

async function requireImage(session: WriteSession, repo: string, digest: string): Promise<void> {
  if (!(await registryContents.holdRepo(session, repo))) throw new CommandFailure(`--repo: there is no repo ${repo}`);
  if (!(await registryContents.hasDigest(session, repo, digest)))
    throw new CommandFailure(`--digest: the repo has no image and no tag with ${digest}`);
}

function collect(value: string, all: readonly string[]): string[] {
  return [...all, value];
}
