/** `platform apply` and `platform diff`. */
import { realpath } from "node:fs/promises";
import { Command, Option } from "commander";
import { CommandFailure, stopSignal } from "../../command/index.ts";
import { findType } from "../catalog/contract.ts";
import { canAsk, confirm } from "../documents/confirm.ts";
import { readDocuments } from "../documents/read.ts";
import { inSession, type Session, withSession } from "../session/session.ts";
import { Apply, type Mode } from "./engine.ts";
import { planDocuments } from "./plan.ts";
import { ApplyRecord, lockRecord, type RecordedResource, recordFile } from "./record.ts";
import { Report } from "./report.ts";

interface Options {
  readonly filename: readonly string[];
  readonly dryRun?: true;
  readonly prune?: true;
  readonly origin?: string;
  readonly record?: string;
  readonly yes?: true;
}

export function makeCommand(): Command {
  return withDocuments(new Command("apply"))
    .description(
      "Create and update resources as documents describe them. A document has kind, parent, spec and, to name one by " +
        "uid, uid. Running it again changes nothing.",
    )
    .option("--dry-run", "have the server check the changes, and change nothing")
    .option("--prune", "delete what an earlier apply of the origin created and no document describes any more")
    .option("--yes", "prune without asking")
    .action(async (options: Options, command: Command) =>
      inSession(command, (session) => run(session, options, options.dryRun ? "validate" : "apply")),
    );
}

export function makeDiffCommand(): Command {
  return withDocuments(new Command("diff"))
    .description(
      "Print what an apply of the documents would change. The exit status is 0 without differences, 1 with some, and " +
        "greater after a failure.",
    )
    .option("--prune", "also what an apply with --prune would delete")
    .action(async (options: Options, command: Command) =>
      inSession(command, (session) => run(session, options, "compare")),
    );
}

function withDocuments(command: Command): Command {
  return withSession(command)
    .addOption(
      new Option(
        "-f, --filename <PATH...>",
        "files or folders of YAML or JSON; - is standard input",
      ).makeOptionMandatory(),
    )
    .option("--origin <NAME>", "whose record says what may be pruned (default: the path of the file or folder)")
    .option("--record <FILE>", "where the record is kept (default: in the state folder of the user)");
}

async function run(session: Session, options: Options, mode: Mode): Promise<void> {
  const documents = await planDocuments(await readDocuments(options.filename));
  const origin = options.origin ?? (await defaultOrigin(options.filename));
  if (origin === undefined && options.prune)
    throw new CommandFailure("--prune needs --origin NAME for these documents", 2);
  const canConfirm = canAsk() && !options.filename.includes("-");
  if (options.prune && mode === "apply" && !options.yes && !canConfirm)
    throw new CommandFailure("--prune needs --yes where there is no terminal to ask on", 2);
  const file = origin === undefined ? undefined : (options.record ?? recordFile(session.server, origin));
  const unlock = file === undefined || mode !== "apply" ? async () => {} : await lockRecord(file, origin!);
  try {
    const record = file === undefined ? undefined : await ApplyRecord.read(file, session.server, origin!);
    const report = new Report();
    const apply = new Apply(session, mode, report, record, documents);
    try {
      await interruptible(apply, async () => {
        await apply.run();
        if (options.prune) await prune(apply, options, mode);
      });
    } finally {
      report.end();
    }
    const { created, updated, pruned } = report.counts;
    const hasChanges = created + updated + pruned > 0;
    if (mode !== "compare") console.log(`${report.summary()}${mode === "validate" ? " (dry run)" : ""}`);
    if (apply.failure !== undefined) throw new CommandFailure(apply.stopped?.lines ?? "", failureStatus(apply, mode));
    if (mode === "compare" && hasChanges) throw new CommandFailure("", 1);
  } finally {
    await unlock();
  }
}

async function prune(apply: Apply, { yes }: Options, mode: Mode): Promise<void> {
  const leftovers = apply.leftovers();
  if (leftovers.length === 0) return;
  if (apply.failure !== undefined) {
    console.error(`note: nothing is pruned after a failure`);
    return;
  }
  if (mode === "apply" && !yes && !(await confirm(pruneQuestion(leftovers)))) console.error("note: nothing is pruned");
  else await apply.prune(leftovers);
}

/** More leftovers are counted in the question, with a few names of each kind. */
const maxListed = 5;
const maxExamples = 3;

/**
 * `Delete Repo a in team, Repo b in team?`; `Delete 2,999 repos (a in team, b in team, c in team, …), 1 group (team)?`
 */
export function pruneQuestion(leftovers: readonly Pick<RecordedResource, "type" | "label">[]): string {
  if (leftovers.length <= maxListed) return `Delete ${leftovers.map(({ label }) => label).join(", ")}?`;
  const kinds = [...Map.groupBy(leftovers, ({ type }) => type)].map(([type, resources]) => {
    const { singular = type, plural = type } = findType(type) ?? {};
    const examples = resources.slice(0, maxExamples).map(({ label }) => label.replace(/^\S+ /, ""));
    const more = resources.length > maxExamples ? ", …" : "";
    const count = resources.length.toLocaleString("en");
    return `${count} ${resources.length === 1 ? singular : plural} (${examples.join(", ")}${more})`;
  });
  return `Delete ${kinds.join(", ")}?`;
}

/** Of the first failure; greater than 1 for `diff`, where 1 stands for differences. */
function failureStatus({ failure }: Apply, mode: Mode): number {
  return Math.max(failure!.exitStatus, mode === "compare" ? 2 : 1);
}

/** Ends an apply at Ctrl-C after the changes under way, and at once when it is pressed again. */
async function interruptible(apply: Apply, run: () => Promise<void>): Promise<void> {
  const { signal, release } = stopSignal();
  signal.addEventListener("abort", () => {
    console.error("note: interrupted; waiting for the changes under way (Ctrl-C again does not wait)");
    apply.stop(new CommandFailure("interrupted", 130));
  });
  try {
    await run();
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    apply.stop(error);
  } finally {
    release();
  }
}

/** The path of the only file or folder; undefined for standard input and for several. */
async function defaultOrigin([path, ...others]: readonly string[]): Promise<string | undefined> {
  return path === undefined || path === "-" || others.length > 0 ? undefined : realpath(path);
}
