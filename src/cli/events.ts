/** `platform events`: what became of events, and a sink to try them with. */
import { Command } from "commander";
import { listCommand } from "./events-list.ts";
import { listenCommand } from "./events-listen.ts";
import { replayCommand } from "./events-replay.ts";
import { showCommand } from "./events-show.ts";

export function eventsCommand(): Command {
  return new Command("events")
    .description("inspect and replay event deliveries, or receive events on this machine")
    .addCommand(listCommand().exitOverride())
    .addCommand(showCommand().exitOverride())
    .addCommand(replayCommand().exitOverride())
    .addCommand(listenCommand().exitOverride());
}
