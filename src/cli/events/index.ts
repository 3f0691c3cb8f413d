/** `platform events`: inspects and replays deliveries, and receives events for tests. */
import { Command } from "commander";
import { listCommand } from "./list.ts";
import { listenCommand } from "./listen.ts";
import { replayCommand } from "./replay.ts";
import { showCommand } from "./show.ts";

export async function makeCommand(): Promise<Command> {
  return new Command("events")
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(replayCommand())
    .addCommand(await listenCommand());
}
