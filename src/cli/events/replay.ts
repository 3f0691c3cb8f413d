/** `platform events replay`: delivers again, with the same event id. A running server starts within a second. */
import { Command, Option } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { type Delivery, type DeliveryState, deliveriesOf, readDeliveries, replay } from "../../delivery/index.ts";
import type { Database } from "../../store/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { deliveryStates } from "./list.ts";
import { requireEvent } from "./show.ts";

const batchSize = 500;
/** Subscriptions listed in an error message. */
const maxShown = 20;

interface Options {
  readonly subscription?: string;
  readonly state?: DeliveryState;
  readonly all?: boolean;
}

export function replayCommand(): Command {
  const command = withSettings(new Command("replay"), ["database"])
    .description("deliver again: one event, or the deliveries of a subscription in one state")
    .argument("[EVENT_ID]", "id of the event, as in Ce-Id")
    .option("--subscription <UID>", "only to this subscription")
    .addOption(new Option("--state <STATE>", "only deliveries in this state").choices(deliveryStates))
    .addOption(new Option("--all", "deliver the event to all of its subscriptions").conflicts("subscription"));
  return command.action((id: string | undefined) =>
    withAuditedDatabase(command, async (database) => {
      const { subscription, state, all = false } = command.opts<Options>();
      if (id === undefined && (subscription === undefined || state === undefined))
        throw new CommandFailure("an EVENT_ID, or --subscription and --state, is required");
      await requireInstallation(database);
      const isSelected = (delivery: Delivery) =>
        (subscription ?? delivery.subscription) === delivery.subscription &&
        (state ?? delivery.state) === delivery.state;
      const selected =
        id === undefined
          ? readDeliveries(database, { subscription, state })
          : (await deliveriesOfEvent(database, id)).filter(isSelected);
      if (Array.isArray(selected) && !all) requireOne(selected);
      let replayed = 0;
      let batch: Delivery[] = [];
      const flush = async () => {
        replayed += await replay(database, batch, Date.now());
        batch = [];
      };
      for await (const delivery of selected) {
        if (!isSelected(delivery)) continue;
        batch.push(delivery);
        if (batch.length >= batchSize) await flush();
      }
      await flush();
      console.log(replayed === 1 ? "1 delivery scheduled" : `${replayed} deliveries scheduled`);
    }),
  );
}

/** Requires a choice, so that a subscription does not receive an event again because another one missed it. */
function requireOne(deliveries: readonly Delivery[]): void {
  if (deliveries.length < 2) return;
  const shown = deliveries.slice(0, maxShown).map(({ subscription, state }) => `  ${subscription}  ${state}`);
  const more = deliveries.length > maxShown ? [`  and ${deliveries.length - maxShown} more`] : [];
  const choice = `the event was for ${deliveries.length} subscriptions; choose one with --subscription, or all with --all:`;
  throw new CommandFailure([choice, ...shown, ...more]);
}

async function deliveriesOfEvent(database: Database, id: string): Promise<Delivery[]> {
  return (await deliveriesOf(database, await requireEvent(database, id))).deliveries;
}
