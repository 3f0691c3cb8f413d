/** `platform access list`: prints the grants that count at a scope, or those of an identity. */
import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { type Grant, GrantSchema } from "../../../gen/platform/access/v1/access_pb.ts";
import { type AccessQuery, allAccess } from "../../services/index.ts";
import type { Database } from "../../store/index.ts";
import { withDatabase } from "../database.ts";
import { CommandFailure } from "../failure.ts";
import { type Listing, printListing } from "../listing.ts";
import { withSettings } from "../settings.ts";
import { operatorOf, requireScope, requireUid } from "./question.ts";
import { countsInWords, holderOf, originOf, sourceOf } from "./words.ts";

interface Options {
  readonly scope?: string;
  readonly identity?: string;
  readonly json?: boolean;
}

export function listCommand(): Command {
  const command = withSettings(new Command("list"), ["database"])
    .description("print who has which role at a scope, or every grant of an identity, and where each comes from")
    .option("--scope <UID>", "grants that count at this group, or at something in a group")
    .option("--identity <UID>", "grants of this identity; with --scope, only those at, above and below it")
    .option("--json", "print one JSON object for each grant");
  return command.action(() =>
    withDatabase(command, async (database) => {
      const { json, ...options } = command.opts<Options>();
      const query = await queryOf(database, options);
      const grants = allAccess(database.read, await operatorOf(database), query);
      await printListing(grants, listing, json === true);
    }),
  );
}

async function queryOf(database: Database, { scope, identity }: Options): Promise<AccessQuery> {
  if (identity !== undefined) requireUid("--identity", identity);
  if (scope !== undefined) {
    await operatorOf(database);
    await requireScope(database, scope);
    return { scope, identity };
  }
  if (identity === undefined) throw new CommandFailure("--scope or --identity is needed");
  return { identity };
}

const listing: Listing<Grant> = {
  columns: [
    ["NAME", 20],
    ["ROLE", 15],
    ["GROUP", 15],
    ["FROM", 13],
    ["INHERITED", 9],
    ["IDENTITY", 40],
    ["ORIGIN", 57],
    ["COUNTS", 0],
  ],
  cells(grant) {
    const { role, group, inherited } = grant;
    const holder = holderOf(grant);
    return [
      holder.name,
      role!.name || role!.uid,
      group === undefined ? "everywhere" : group.name || group.uid,
      sourceOf(grant),
      inherited ? "yes" : "no",
      holder.uid,
      originOf(grant),
      countsInWords(grant),
    ];
  },
  json: (grant) => toJson(GrantSchema, grant) as object,
};
