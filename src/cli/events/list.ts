/** `platform events list`: prints deliveries, newest first, or their counts by subscription and state. */
import { Command, Option } from "commander";
import { CommandFailure, wholeNumber } from "../../command/index.ts";
import {
  countDeliveries,
  type Delivery,
  type DeliveryCounts,
  type DeliveryState,
  readDeliveries,
} from "../../delivery/index.ts";
import { requireInstallation, withDatabase } from "../database.ts";
import { type Listing, parseSince, printListing } from "../listing.ts";
import { withSettings } from "../settings.ts";

/** Choices of `--state`. */
export const deliveryStates: readonly DeliveryState[] = ["pending", "delivered", "dead"];

interface Options {
  readonly subscription?: string;
  readonly state?: DeliveryState;
  readonly since?: string;
  readonly limit: number;
  readonly summary?: boolean;
  readonly json?: boolean;
}

export function listCommand(): Command {
  const command = withSettings(new Command("list"), ["database"])
    .description("print deliveries, newest events first")
    .option("--subscription <UID>", "only deliveries to this subscription")
    .addOption(new Option("--state <STATE>", "only deliveries in this state").choices(deliveryStates))
    .option("--since <TIME>", "only deliveries of events since this time: 90s, 15m, 1h, 7d, or an RFC 3339 time")
    .option("--limit <N>", "maximum number of deliveries to print; 0 prints all", wholeNumber(0), 50)
    .option("--summary", "print the number of deliveries of each subscription in each state instead")
    .option("--json", "print one JSON object for each line");
  return command.action(() =>
    withDatabase(command, async (database) => {
      const { since, subscription, state, summary, json = false, ...options } = command.opts<Options>();
      const limit = options.limit || Number.POSITIVE_INFINITY;
      const filter = {
        sinceMs: since === undefined ? undefined : parseSince(since),
        subscription,
        state,
        newestFirst: true,
      };
      if (summary && (since !== undefined || state !== undefined))
        throw new CommandFailure("--summary counts all deliveries and cannot be combined with --since or --state");
      await requireInstallation(database);
      if (summary) {
        const counts = await countDeliveries(database);
        return printListing(
          counts.filter((each) => (subscription ?? each.subscription) === each.subscription),
          summaryListing,
          json,
        );
      }
      const taken = { hasMore: false };
      await printListing(takeFirst(readDeliveries(database, filter), limit, taken), deliveryListing, json);
      if (taken.hasMore)
        console.error(`older deliveries exist: print more than ${limit} with --limit, or count them with --summary`);
    }),
  );
}

/** Yields up to `limit` records. Sets `taken.hasMore` if there are more. */
async function* takeFirst<T>(records: AsyncIterable<T>, limit: number, taken: { hasMore: boolean }): AsyncGenerator<T> {
  let count = 0;
  for await (const record of records) {
    taken.hasMore = ++count > limit;
    if (taken.hasMore) return;
    yield record;
  }
}

/** The columns of counts. */
const summaryListing: Listing<DeliveryCounts> = {
  columns: [
    ["PENDING", 9, ({ pending }) => String(pending)],
    ["DELIVERED", 9, ({ delivered }) => String(delivered)],
    ["DEAD", 9, ({ dead }) => String(dead)],
    ["SUBSCRIPTION", 0, ({ subscription }) => subscription],
  ],
};

/** The columns of deliveries. */
export const deliveryListing: Listing<Delivery> = {
  columns: [
    ["EVENT TIME", 24, ({ eventTimeMs }) => timeText(eventTimeMs)],
    ["STATE", 9, ({ state }) => state],
    ["ATTEMPTS", 8, ({ attempts }) => String(attempts)],
    ["LAST", 28, ({ lastResult }) => lastResult],
    ["NEXT ATTEMPT", 24, ({ nextAttemptTimeMs }) => timeText(nextAttemptTimeMs)],
    ["EVENT", 36, ({ eventId }) => eventId],
    ["SUBSCRIPTION", 0, ({ subscription }) => subscription],
  ],
  json: recordOf,
};

/** A delivery as JSON. Times are in RFC 3339; "" if absent. */
export function recordOf({ eventTimeMs, lastAttemptTimeMs, nextAttemptTimeMs, ...delivery }: Delivery): object {
  const { eventId, subscription, state, attempts, lastResult } = delivery;
  return {
    eventTime: timeText(eventTimeMs),
    state,
    attempts,
    lastResult,
    lastAttemptTime: timeText(lastAttemptTimeMs),
    nextAttemptTime: timeText(nextAttemptTimeMs),
    eventId,
    subscription,
  };
}

function timeText(ms: number | undefined): string {
  return ms === undefined ? "" : new Date(ms).toISOString();
}
