/** `platform events`: inspects and replays deliveries, and receives events for tests. */
import { Command } from "commander";
import { listCommand } from "./list.ts";
import { listenCommand } from "./listen.ts";
import { replayCommand } from "./replay.ts";
import { showCommand } from "./show.ts";

export async function eventsCommand(): Promise<Command> {
  return new Command("events")
    .addCommand(listCommand().exitOverride())
    .addCommand(showCommand().exitOverride())
    .addCommand(replayCommand().exitOverride())
    .addCommand((await listenCommand()).exitOverride());
}
