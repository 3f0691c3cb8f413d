/** `platform events`: inspects and replays deliveries, and receives events for tests. */
import { Command } from "commander";
import { listCommand } from "./list.ts";
import { listenCommand } from "./listen.ts";
import { replayCommand } from "./replay.ts";
import { showCommand } from "./show.ts";

export function eventsCommand(): Command {
  return new Command("events")
    .addCommand(listCommand().exitOverride())
    .addCommand(showCommand().exitOverride())
    .addCommand(replayCommand().exitOverride())
    .addCommand(listenCommand().exitOverride());
}
