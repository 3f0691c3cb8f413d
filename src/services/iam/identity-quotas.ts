/** How many identities of the kinds that make tokens dearer an organisation may have; all others are free. */
import type { HandlerContext } from "@connectrpc/connect";
import type { Identity } from "../../../gen/platform/iam/v2/identities_pb.ts";
import { resourceExhausted } from "../../errors.ts";
import { type Change, databaseOf, environmentOf } from "../../resource/index.ts";
import type { Selection, TableSpec } from "../../store/index.ts";
import { rootOf } from "../../uid.ts";
import { hasPatterns, keySourceOf, literalsOf } from "./identity-rules.ts";

/** Identities of an organisation that carry keys of one issuer and subject: each is one more key to try for every token that names these. */
export const maxCarryingKeys = 4;

/** Errors: RESOURCE_EXHAUSTED when an identity would be one too many of its kind. */
export async function requireRoom(
  table: TableSpec,
  { uid, before, after }: Change<Identity>,
  context: HandlerContext,
): Promise<void> {
  const organisation = rootOf(uid);
  const within = [{ root: organisation, self: false }];
  const session = databaseOf(context);
  const require = async (most: number, where: NonNullable<Selection["where"]>, text: string) => {
    if ((await session.count(table, { within, where })) >= most) throw resourceExhausted(organisation, text);
  };
  if (hasPatterns(after) && (before === undefined || !hasPatterns(before))) {
    const { maxPatternIdentities: most } = environmentOf(context);
    const where = [{ column: "has_patterns", equals: 1 }];
    await require(most, where, `an organisation can have ${most} identities with patterns`);
  }
  if (after.relationship.case !== "staticKeys") return;
  const { subject } = literalsOf(after);
  const source = keySourceOf(after);
  if (before !== undefined && keySourceOf(before) === source && literalsOf(before).subject === subject) return;
  const where = [
    { column: "key_source", equals: source },
    { column: "subject", equals: subject },
  ];
  const text = `an organisation can have ${maxCarryingKeys} identities with static keys of one issuer and subject`;
  await require(maxCarryingKeys, where, text);
}
