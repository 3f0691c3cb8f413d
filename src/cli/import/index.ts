/** `platform import`: imports data that other systems publish. */
import { Command } from "commander";
import { growYoungSpace } from "../../app/garbage-collection.ts";
import { importSnapshotCommand } from "../snapshot/import.ts";
import { importAdvisoriesCommand } from "./advisories.ts";
import { importArtifactsCommand } from "./artifacts.ts";
import { importDebianTrackerCommand } from "./debian-tracker.ts";
import { importEolCommand } from "./end-of-life.ts";
import { importEpssCommand } from "./epss.ts";
import { importKevCommand } from "./kev.ts";
import { importOsvCommand } from "./osv.ts";
import { importRegistryCommand } from "./registry.ts";
import { importSbomCommand } from "./sbom.ts";
import { importVulnReportCommand } from "./vuln-report.ts";

export function makeCommand(): Command {
  const command = new Command("import").hook("preAction", growYoungSpace);
  for (const sub of [
    importOsvCommand,
    importAdvisoriesCommand,
    importDebianTrackerCommand,
    importEpssCommand,
    importKevCommand,
    importArtifactsCommand,
    importRegistryCommand,
    importSbomCommand,
    importVulnReportCommand,
    importEolCommand,
    importSnapshotCommand,
  ])
    command.addCommand(sub());
  return command;
}
