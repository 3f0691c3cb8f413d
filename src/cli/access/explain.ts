/** `platform access explain`: prints why an identity may do something at a scope, or what is missing. */
import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import {
  type AccessGroup,
  type ExplainResponse,
  ExplainResponseSchema,
  type Grant,
  Verdict,
  VerdictSchema,
} from "../../../gen/platform/access/v1/access_pb.ts";
import type { Capability } from "../../../gen/platform/capabilities/capabilities_pb.ts";
import { capabilityList } from "../../auth/index.ts";
import { printable, printableJson } from "../../log-text.ts";
import { explainAccess } from "../../services/index.ts";
import { withDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";
import { operatorOf, parseCapability, parseUid, requireScope } from "./question.ts";
import { countsInWords, inWords, named, originOf, sourceOf } from "./words.ts";

interface Options {
  readonly identity: string;
  readonly capability: Capability;
  readonly scope: string;
  readonly json?: boolean;
}

export function explainCommand(): Command {
  const command = withSettings(new Command("explain"), ["database"])
    .description("print the grants by which an identity holds a capability at a scope, or what is missing")
    .requiredOption("--identity <UID>", "identity that is asked about", parseUid)
    .requiredOption("--capability <NAME>", "repo.list or CAP_REPO_LIST", parseCapability)
    .requiredOption("--scope <UID>", "group, or something in a group, where the capability is needed", parseUid)
    .option("--json", "print one JSON object");
  return command.action(() =>
    withDatabase(command, async (database) => {
      const { identity, capability, scope, json } = command.opts<Options>();
      const operator = await operatorOf(database);
      await requireScope(database, scope);
      const answer = await explainAccess(database.read, operator, { identity, capability, scope });
      if (json) console.log(printableJson(toJson(ExplainResponseSchema, answer)));
      else print(answer);
    }),
  );
}

function print({ verdict, identity, capability, groups, grants, otherGrants, missing, roles }: ExplainResponse): void {
  console.log(inWords(VerdictSchema, verdict));
  printLine(`  identity    ${named(identity!)}`);
  printLine(`  capability  ${capabilityList([capability])}`);
  printLine(`  scope       ${named(groups.at(-1)!)}`);
  if (grants.length > 0) console.log("\ngrants that allow it");
  for (const grant of grants) printPath(grant, groups);
  if (missing.length > 0) console.log(`\n${verdict === Verdict.DENIED ? "missing" : "conditions"}`);
  for (const sentence of missing) printLine(`  ${sentence}`);
  if (otherGrants.length > 0) console.log("\nother grants of the identity");
  for (const grant of otherGrants) printLine(`  ${roleAt(grant)}, by ${originInWords(grant)}`);
  if (roles.length > 0) console.log("\nroles with the capability that can be bound at the scope");
  for (const role of roles) printLine(`  ${named(role)}`);
}

function printLine(text: string): void {
  console.log(printable(text));
}

/** One line for each step from the origin of a grant down to the scope. */
function printPath(grant: Grant, groups: readonly AccessGroup[]): void {
  const { role, group } = grant;
  const from = group === undefined ? 0 : groups.findIndex(({ uid }) => uid === group.uid);
  const steps = [
    originInWords(grant),
    `role ${named(role!)}`,
    ...(group === undefined ? ["at the whole platform"] : []),
    ...groups.slice(from).map((each, i) => `${i === 0 && group !== undefined ? "at" : "contains"} ${named(each)}`),
  ];
  for (const [i, step] of steps.entries()) printLine(`  ${"   ".repeat(i)}${i === 0 ? "" : "└─ "}${step}`);
}

function roleAt({ role, group }: Grant): string {
  return `role ${named(role!)} at ${group === undefined ? "the whole platform" : named(group)}`;
}

function originInWords(grant: Grant): string {
  return `${sourceOf(grant)} ${originOf(grant)} (counts: ${countsInWords(grant)})`;
}
