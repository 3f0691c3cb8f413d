/** `platform events show`: prints an event and its deliveries. */
import { Command } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { deliveriesOf, type Event, readEvents } from "../../delivery/index.ts";
import { printable, printableJson } from "../../log-text.ts";
import type { Database } from "../../store/index.ts";
import { requireInstallation, withDatabase } from "../database.ts";
import { printListing } from "../listing.ts";
import { withSettings } from "../settings.ts";
import { deliveryListing, recordOf } from "./list.ts";

export function showCommand(): Command {
  const command = withSettings(new Command("show"), ["database"])
    .description("print an event and its deliveries")
    .argument("<EVENT_ID>", "id of the event, as in Ce-Id")
    .option("--json", "print one JSON object");
  return command.action((id: string) =>
    withDatabase(command, async (database) => {
      await requireInstallation(database);
      const event = await requireEvent(database, id);
      const { isWaiting, deliveries } = await deliveriesOf(database, event);
      const { type, source, subject, extensions } = event;
      const attributes = { id, type, source, subject, time: new Date(event.timeMs).toISOString(), ...extensions };
      const data: unknown = JSON.parse(event.data);
      if (command.opts<{ json?: boolean }>().json) {
        console.log(printableJson({ ...attributes, data, isWaiting, deliveries: deliveries.map(recordOf) }));
        return;
      }
      for (const [name, value] of Object.entries(attributes)) console.log(printable(`${name.padEnd(18)}${value}`));
      console.log(`\n${printableJson(data, 2)}\n`);
      if (isWaiting) console.log("its subscriptions have not been looked up yet");
      else if (deliveries.length === 0) console.log("no subscription matches this event");
      else await printListing(deliveries, deliveryListing, false);
    }),
  );
}

/** The event with this id. Errors: CommandFailure if there is none. */
export async function requireEvent(database: Database, id: string): Promise<Event> {
  const event = (await readEvents(database.read, [id])).get(id);
  if (event === undefined)
    throw new CommandFailure(`there is no event ${JSON.stringify(id)}, or its retention has ended`);
  return event;
}
