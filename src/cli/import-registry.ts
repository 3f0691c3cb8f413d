/** `platform import registry`: a registry's repositories and tags, as repos and tags of a group. */
import { setTimeout } from "node:timers/promises";
import { Command } from "commander";
import {
  ImportReport,
  type ImportSummary,
  openRegistry,
  RegistryFailure,
  RegistryRefusal,
  summaryText,
} from "../feeds/index.ts";
import { createMirror, openOperator } from "../server/index.ts";
import { groupExists } from "../services/index.ts";
import { requireInstallation, withDatabase } from "./database.ts";
import { CommandFailure } from "./failure.ts";
import { type RoundOptions, runRound } from "./import-registry-round.ts";
import { withSettings } from "./settings.ts";
import { stopSignal } from "./stop-signal.ts";

interface Options {
  readonly group: string;
  readonly repo: readonly string[];
  readonly prune?: boolean;
  readonly watch?: string;
  readonly json?: boolean;
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

export function importRegistryCommand(): Command {
  const command = withSettings(new Command("registry"), ["database", "registryCredentials"])
    .description(
      "import repositories, tags and image sizes from an OCI distribution registry. The summary counts repositories and tags. " +
        "Those that the registry no longer has are kept and counted as gone, unless --prune is given",
    )
    .argument("<URL>", "URL of the registry, such as https://registry.example.com")
    .requiredOption("--group <UID>", "group that holds the repos")
    .option("--repo <NAME...>", "only these repositories, instead of the whole catalog", [])
    .option("--prune", "delete repos and tags of the group that the registry does not have")
    .option("--watch <INTERVAL>", "repeat until stopped, with this pause between runs: 30s, 5m, 1h")
    .option("--json", "print each summary as one JSON object");
  return command.action((address: string) =>
    withDatabase(command, async (database, config) => {
      const { group, repo: repositories, prune = false, watch, json = false } = command.opts<Options>();
      const pauseMs = watch === undefined ? undefined : parseInterval(watch);
      await requireInstallation(database);
      if (!(await groupExists(database.read, group))) throw new CommandFailure(`--group: there is no group ${group}`);
      const { signal, release } = stopSignal();
      const registry = open(address, { credentials: config.registryCredentials, signal });
      try {
        const operator = await openOperator(database, config, "import registry");
        const mirror = createMirror({ database, operator, registry, group, now: Date.now });
        const round = { registry, mirror, read: database.read, group, repositories, prune, signal };
        if (pauseMs === undefined) {
          const { refused } = await runOnce(round, json);
          if (signal.aborted) throw new CommandFailure("stopped; run the command again to continue");
          if (refused > 0) throw new CommandFailure(`${refused} refused`);
        }
        while (pauseMs !== undefined && !signal.aborted) {
          await runOnce(round, json);
          await setTimeout(pauseMs, undefined, { signal }).catch(() => {}); // told to stop
        }
      } finally {
        release();
        await registry.close();
      }
    }),
  );
}

/** Errors: CommandFailure for what is no address of a registry. */
function open(...[address, options]: Parameters<typeof openRegistry>): ReturnType<typeof openRegistry> {
  try {
    return openRegistry(address, options);
  } catch (error) {
    if (error instanceof RegistryRefusal) throw new CommandFailure(`${address}: ${error.message}`);
    throw error;
  }
}

/** One round and its summary; a registry that cannot be read counts as refused. */
async function runOnce(round: Omit<RoundOptions, "report">, isJson: boolean): Promise<ImportSummary> {
  const progress = new ImportReport(process.stderr);
  let gone = 0;
  const report = {
    count: (what: Parameters<ImportReport["count"]>[0]) => progress.count(what),
    refuse: (name: string, reason: string) => progress.refuse(name, reason),
    gone(name: string) {
      gone++;
      progress.tell(`gone: ${name}`);
    },
  };
  try {
    await runRound({ ...round, report });
  } catch (error) {
    const isKnown = error instanceof RegistryFailure || error instanceof RegistryRefusal;
    if (!isKnown && !round.signal.aborted) throw error;
    if (!round.signal.aborted) report.refuse("the registry", (error as Error).message);
  }
  progress.end();
  const { unread: _, ...summary } = progress.summary; // of manifests nothing is counted as unread
  const text = gone === 0 ? summaryText(summary) : `${summaryText(summary)}, gone ${gone}`;
  process.stdout.write(`${isJson ? JSON.stringify({ ...summary, gone }) : text}\n`);
  return progress.summary;
}

function parseInterval(text: string): number {
  const [, amount, unit = ""] = /^([1-9][0-9]{0,4})([smh])$/.exec(text) ?? [];
  if (amount === undefined) throw new CommandFailure(`--watch must be like 30s, 5m or 1h, not ${JSON.stringify(text)}`);
  return Number(amount) * unitMs[unit]!;
}
