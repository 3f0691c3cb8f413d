/** `platform events list`: what became of deliveries. */
import { Command, Option } from "commander";
import { type Delivery, type DeliveryState, readDeliveries } from "../delivery/index.ts";
import { requireInstallation, withDatabase } from "./database.ts";
import { type Listing, parseSince, printListing } from "./listing.ts";
import { withSettings } from "./settings.ts";

/** The states that deliveries have, as options take them. */
export const deliveryStates: readonly DeliveryState[] = ["pending", "delivered", "dead"];

interface Options {
  readonly subscription?: string;
  readonly state?: DeliveryState;
  readonly since?: string;
  readonly json?: boolean;
}

export function listCommand(): Command {
  const command = withSettings(new Command("list"), ["database"])
    .description("print deliveries, those of the oldest events first")
    .option("--subscription <UID>", "only those to this subscription")
    .addOption(new Option("--state <STATE>", "only those in this state").choices(deliveryStates))
    .option("--since <TIME>", "only of events that are not older: 90s, 15m, 1h, 7d, or an RFC 3339 time")
    .option("--json", "print one JSON object for each delivery");
  return command.action(() =>
    withDatabase(command, async (database) => {
      const { since, subscription, state, json } = command.opts<Options>();
      const filter = { sinceMs: since === undefined ? undefined : parseSince(since), subscription, state };
      await requireInstallation(database);
      await printListing(readDeliveries(database, filter), deliveryListing, json === true);
    }),
  );
}

/** A delivery as it is printed; times in RFC 3339, absent as "". */
export interface DeliveryRecord {
  readonly eventTime: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** `200`, `timeout`; "" before the first attempt. */
  readonly lastResult: string;
  readonly lastAttemptTime: string;
  readonly nextAttemptTime: string;
  readonly eventId: string;
  readonly subscription: string;
}

/** The columns of deliveries. */
export const deliveryListing: Listing<Delivery> = {
  columns: [
    ["EVENT TIME", 24],
    ["STATE", 9],
    ["ATTEMPTS", 8],
    ["LAST", 7],
    ["NEXT ATTEMPT", 24],
    ["EVENT", 36],
    ["SUBSCRIPTION", 0],
  ],
  cells(delivery) {
    const { eventTime, state, attempts, lastResult, nextAttemptTime, eventId, subscription } = recordOf(delivery);
    return [eventTime, state, String(attempts), lastResult, nextAttemptTime, eventId, subscription];
  },
  json: recordOf,
};

/** A delivery as it is printed. */
export function recordOf({ eventTimeMs, lastAttemptTimeMs, nextAttemptTimeMs, ...delivery }: Delivery): DeliveryRecord {
  const { eventId, subscription, state, attempts, lastResult } = delivery;
  return {
    eventTime: textOf(eventTimeMs),
    state,
    attempts,
    lastResult,
    lastAttemptTime: textOf(lastAttemptTimeMs),
    nextAttemptTime: textOf(nextAttemptTimeMs),
    eventId,
    subscription,
  };
}

function textOf(ms: number | undefined): string {
  return ms === undefined ? "" : new Date(ms).toISOString();
}
