/**
 * `platform import registry`: imports the repositories and tags of a container registry as repos and tags of a group,
 * and the packages of their images from the bills of materials that the registry has.
 */

import { setTimeout } from "node:timers/promises";
import { Command } from "commander";
import { openOperator } from "../../app/index.ts";
import { CommandFailure, stopSignal } from "../../command/index.ts";
import {
  ContainerRegistry,
  ImportReport,
  type ImportSummary,
  RegistryFailure,
  RegistryRefusal,
  readSbom,
  summaryText,
} from "../../feeds/index.ts";
import { type FullSyncOptions, runFullSync, SbomSynchronizer, Synchronizer } from "../../registry-sync/index.ts";
import { groupExists } from "../../services/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { durationMs } from "../duration.ts";
import { withSettings } from "../settings.ts";
import { maxSbomBytes } from "./sbom.ts";

interface Options {
  readonly group: string;
  readonly repo: readonly string[];
  readonly prune?: boolean;
  readonly watch?: string;
  readonly json?: boolean;
}

/** Longest delay of a timer. */
const maxPauseMs = 2 ** 31 - 1;

export function importRegistryCommand(): Command {
  const command = withSettings(new Command("registry"), ["database", "baseUrl", "registryCredentials", "registrySboms"])
    .description(
      "import repositories, tags, image sizes and bills of materials from an OCI distribution registry. The summary counts repositories and tags, " +
        "and images with bills of materials. Those that the registry no longer has are kept and counted as gone, unless --prune is given",
    )
    .argument("<URL>", "URL of the registry, such as https://registry.example.com")
    .requiredOption("--group <UID>", "group that holds the repos")
    .option("--repo <NAME...>", "only these repositories, instead of the whole catalog", [])
    .option("--prune", "delete repos and tags of the group that the registry does not have")
    .option("--watch <INTERVAL>", "repeat until stopped, with this pause between runs: 30s, 5m, 1h")
    .option("--json", "print each summary as one JSON object");
  return command.action((address: string) =>
    withAuditedDatabase(command, async (database, config) => {
      const { group, repo: repositories, prune = false, watch, json = false } = command.opts<Options>();
      const pauseMs = watch === undefined ? undefined : parseInterval(watch);
      await requireInstallation(database);
      if (!(await groupExists(database.read, group))) throw new CommandFailure(`--group: there is no group ${group}`);
      const { signal, release } = stopSignal();
      const registry = open(address, { credentials: config.registryCredentials, signal });
      try {
        const operator = await openOperator(database, config, "import registry");
        const synchronizer = new Synchronizer({ database, operator, registry, group, now: Date.now });
        const sboms =
          config.registrySboms === "off"
            ? undefined
            : new SbomSynchronizer({ database, registry, read: readSbom, maxBytes: maxSbomBytes, now: Date.now });
        const options = { registry, synchronizer, sboms, read: database.read, group, repositories, prune, signal };
        if (pauseMs === undefined) {
          const { refused } = await runOnce(options, json);
          if (signal.aborted) throw new CommandFailure("stopped; run the command again to continue");
          if (refused > 0) throw new CommandFailure(`${refused} refused`);
        }
        while (pauseMs !== undefined && !signal.aborted) {
          await runOnce(options, json);
          await setTimeout(pauseMs, undefined, { signal }).catch(() => {}); // stopped
        }
      } finally {
        release();
        await registry.close();
      }
    }),
  );
}

/** Errors: CommandFailure for an invalid URL. */
function open(...[address, options]: ConstructorParameters<typeof ContainerRegistry>): ContainerRegistry {
  try {
    return new ContainerRegistry(address, options);
  } catch (error) {
    if (error instanceof RegistryRefusal) throw new CommandFailure(`${address}: ${error.message}`);
    throw error;
  }
}

/** Synchronizes once and prints the summary. A registry that cannot be read counts as refused. */
async function runOnce(options: Omit<FullSyncOptions, "report">, isJson: boolean): Promise<ImportSummary> {
  const progress = new ImportReport(process.stderr);
  const sboms = { added: 0, changed: 0, unchanged: 0, removed: 0, unversioned: 0 };
  let gone = 0;
  const report = {
    count: (what: Parameters<ImportReport["count"]>[0]) => progress.count(what),
    refuse: (name: string, reason: string) => progress.refuse(name, reason),
    gone(name: string) {
      gone++;
      progress.print(`gone: ${name}`);
    },
    sboms: {
      count: (what: keyof typeof sboms) => void sboms[what]++,
      unread: (member: string, name: string) => progress.unread(member, name),
      unversioned(count: number) {
        sboms.unversioned += count;
      },
    },
  };
  try {
    await runFullSync({ ...options, report });
  } catch (error) {
    const isKnown = error instanceof RegistryFailure || error instanceof RegistryRefusal;
    if (!isKnown && !options.signal.aborted) throw error;
    if (!options.signal.aborted) report.refuse("the registry", (error as Error).message);
  }
  progress.end();
  const { unread, ...summary } = progress.summary;
  const ofSboms = options.sboms && { sboms: { ...sboms, unread } };
  const text = gone === 0 ? summaryText(summary) : `${summaryText(summary)}, gone ${gone}`;
  const lines = ofSboms === undefined ? text : `${text}\n${sbomsText(ofSboms.sboms)}`;
  process.stdout.write(`${isJson ? JSON.stringify({ ...summary, gone, ...ofSboms }) : lines}\n`);
  return progress.summary;
}

function sbomsText({ unversioned, ...counts }: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  const left = unversioned ? [`without version ${unversioned}`] : [];
  return `bills of materials: ${[...parts, ...left].join(", ")}`;
}

function parseInterval(text: string): number {
  const pauseMs = durationMs(text);
  if (!(pauseMs <= maxPauseMs))
    throw new CommandFailure(`--watch must be like 30s, 5m or 1h and at most 24d, not ${JSON.stringify(text)}`);
  return pauseMs;
}
