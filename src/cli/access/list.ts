/** `platform access list`: prints the grants that count at a scope, or those of an identity. */
import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { type Grant, GrantSchema } from "../../../gen/platform/access/v1/access_pb.ts";
import { allAccess } from "../../services/index.ts";
import { withDatabase } from "../database.ts";
import { type Listing, printListing } from "../listing.ts";
import { withSettings } from "../settings.ts";
import { operatorOf, parseUid, requireScope } from "./question.ts";
import { countsInWords, holderOf, originOf, sourceOf } from "./words.ts";

interface Options {
  readonly scope?: string;
  readonly identity?: string;
  readonly json?: boolean;
}

export function listCommand(): Command {
  const command = withSettings(new Command("list"), ["database"])
    .description("print who has which role at a scope, or every grant of an identity, and where each comes from")
    .option("--scope <UID>", "grants that count at this group, or at something in a group", parseUid)
    .option("--identity <UID>", "grants of this identity; with --scope, only those at, above and below it", parseUid)
    .option("--json", "print one JSON object for each grant");
  return command.action(() =>
    withDatabase(command, async (database) => {
      const { scope, identity, json } = command.opts<Options>();
      const operator = await operatorOf(database);
      if (scope !== undefined) await requireScope(database, scope);
      const query = scope !== undefined ? { scope, identity } : identity !== undefined ? { identity } : undefined;
      if (query === undefined) return command.error("error: --scope or --identity is needed");
      await printListing(allAccess(database.read, operator, query), listing, json === true);
    }),
  );
}

const listing: Listing<Grant> = {
  columns: [
    ["NAME", 20, (grant) => holderOf(grant).name],
    ["ROLE", 15, ({ role }) => role!.name || role!.uid],
    ["GROUP", 15, ({ group }) => (group === undefined ? "everywhere" : group.name || group.uid)],
    ["FROM", 13, sourceOf],
    ["INHERITED", 9, ({ inherited }) => (inherited ? "yes" : "no")],
    ["IDENTITY", 57, (grant) => holderOf(grant).uid],
    ["ORIGIN", 74, originOf],
    ["COUNTS", 0, countsInWords],
  ],
  json: (grant) => toJson(GrantSchema, grant) as object,
};
