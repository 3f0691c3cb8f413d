/** `platform import`: what other systems publish, brought into the database. */
import { Command } from "commander";
import { growYoungSpace } from "../collector.ts";
import { importAdvisoriesCommand } from "./import-advisories.ts";
import { importArtifactsCommand } from "./import-artifacts.ts";
import { importOsvCommand } from "./import-osv.ts";
import { importRegistryCommand } from "./import-registry.ts";
import { importSbomCommand } from "./import-sbom.ts";

export function importCommand(): Command {
  const command = new Command("import")
    .description("import data from registries and feeds")
    .hook("preAction", growYoungSpace);
  for (const sub of [
    importOsvCommand,
    importAdvisoriesCommand,
    importArtifactsCommand,
    importRegistryCommand,
    importSbomCommand,
  ])
    command.addCommand(sub().exitOverride());
  return command;
}
