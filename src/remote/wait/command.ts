/** `platform wait`: asks for a resource until it meets a condition. */

import { setTimeout as sleep } from "node:timers/promises";
import { Command, Option } from "commander";
import { PlatformError } from "../../client/index.ts";
import { CommandFailure, ProgressLine } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import { uidOfResource } from "../documents/lookup.ts";
import { getResource, methodOf, type Resource } from "../documents/requests.ts";
import { parentOption, requireResource } from "../resources/resource-command.ts";
import { failureOf } from "../session/failure.ts";
import { inSession, type Session, sessionUntil, withSession } from "../session/session.ts";
import { type Condition, readCondition } from "./condition.ts";

/** Between two attempts. */
const delayMs = { first: 200, most: 2000 };
/** Exit statuses of {@link failureOf}. */
const status = { notFound: 3, notAvailable: 6, tooMany: 8 };

export function makeCommand(): Command {
  return withSession(new Command("wait"))
    .description("Wait until a resource exists, is deleted, or has a value in a field.")
    .argument("<RESOURCE>", "`platform resources` lists them")
    .argument("<UID|NAME>", "which")
    .addOption(parentOption())
    .addOption(
      new Option(
        "--for <CONDITION>",
        "`exists`, `deleted` or FIELD=VALUE; dots lead into messages: sync_config.unique_tags=true",
      ).makeOptionMandatory(),
    )
    .option("--within <SECONDS>", "how long to wait", "300")
    .action((name: string, text: string, options: { for: string; parent?: string; within: string }, command: Command) =>
      inSession(command, async (session) => {
        const resource = requireResource(name);
        methodOf(resource, "Get");
        const condition = readCondition(resource, options.for);
        const withinMs = Number(options.within) * 1000;
        if (!(withinMs > 0))
          throw new CommandFailure(`--within must be more than 0, not ${JSON.stringify(options.within)}`, 2);
        const line = new ProgressLine();
        try {
          console.log(
            printable(await waitFor(session, resource, { text, parent: options.parent }, condition, withinMs, line)),
          );
        } finally {
          line.clear();
        }
      }),
    );
}

/**
 * Returns what is the case when the condition holds: `role/0a…9f exists`. Errors: CommandFailure with status 6 after
 * `withinMs`; the first answer that no waiting changes.
 */
async function waitFor(
  session: Session,
  resource: ResourceEntry,
  which: { readonly text: string; readonly parent: string | undefined },
  condition: Condition,
  withinMs: number,
  line: ProgressLine,
): Promise<string> {
  const startMs = performance.now();
  const endMs = startMs + withinMs;
  const find = finder(sessionUntil(session, endMs), resource, which);
  let last: readonly string[] = ["the server did not answer"];
  for (let nextMs = delayMs.first; ; nextMs = Math.min(nextMs * 1.5, delayMs.most)) {
    let retryAfterMs = 0;
    try {
      const found = await find(condition.mayBeMissing);
      const state = `${resource.singular}/${found?.uid ?? which.text} ${condition.describe(found)}`;
      if (condition.isMet(found)) return state;
      last = [state];
    } catch (error) {
      const { failure } = failureOf(error, session.server);
      if (failure.exitStatus !== status.notAvailable && failure.exitStatus !== status.tooMany) throw error;
      if (error instanceof PlatformError) retryAfterMs = error.retryAfter ?? 0;
      if (performance.now() < endMs) last = failure.lines;
    }
    const pauseMs = Math.max(retryAfterMs, nextMs * (0.5 + Math.random() / 2));
    if (performance.now() + pauseMs >= endMs)
      throw new CommandFailure([`not within ${withinMs / 1000} s: ${last[0]}`, ...last.slice(1)], status.notAvailable);
    line.show(() => `${Math.round((performance.now() - startMs) / 1000)} s: ${last.join(", ")}`);
    await sleep(pauseMs);
  }
}

/** Finds the resource. Once it has been found by its name, it is the one with that uid until it is gone. */
function finder(
  session: Session,
  resource: ResourceEntry,
  { text, parent }: { readonly text: string; readonly parent: string | undefined },
) {
  let uid: string | undefined;
  return async (mayBeMissing: boolean): Promise<Resource | undefined> => {
    try {
      uid ??= await uidOfResource(session, resource, text, parent);
      return await getResource(session, resource, uid);
    } catch (error) {
      if (!mayBeMissing || failureOf(error, session.server).failure.exitStatus !== status.notFound) throw error;
      uid = undefined;
      return undefined;
    }
  };
}
