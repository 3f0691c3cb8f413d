/** Quotas for the identities of an organisation that make authentication more expensive. All others are unlimited. */
import type { HandlerContext } from "@connectrpc/connect";
import type { Identity, IdentitySchema } from "../../../gen/platform/iam/v2/identities_pb.ts";
import { resourceExhausted } from "../../errors.ts";
import { type Change, databaseOf, environmentOf, messageOf, type Resource } from "../../resource/index.ts";
import type { Selection } from "../../store/index.ts";
import { rootOf } from "../../uid.ts";
import { keySourceOf, literalsOf, patternCount } from "./identity-rules.ts";

/**
 * The maximum of identities of an organisation with static keys for one issuer and subject. Each is one more key to try
 * for every token that names these.
 */
export const maxCarryingKeys = 4;

/** Errors: RESOURCE_EXHAUSTED when an identity exceeds a quota. */
export async function requireQuota(
  resource: Resource<typeof IdentitySchema>,
  { uid, before, after }: Change<Identity>,
  context: HandlerContext,
): Promise<void> {
  const organisation = rootOf(uid);
  const within = [{ root: organisation, self: false }];
  const session = databaseOf(context);
  const requireBelow = async (max: number, where: NonNullable<Selection["where"]>, text: string) => {
    if ((await session.count(resource.table, { within, where })) >= max)
      throw resourceExhausted(organisation, text, undefined, { limit: String(max) });
  };
  const added = patternCount(after) - (before === undefined ? 0 : patternCount(before));
  if (added > 0) {
    const { maxPatterns: max } = environmentOf(context);
    const where = [{ column: "has_patterns", equals: 1 }];
    // Each of these identities has a pattern, so that more of them than patterns are allowed need not be read.
    const rows = await session.list(resource.table, { within, where, limit: max + 1 });
    const others = rows.filter((row) => row.uid !== uid);
    const count = others.reduce((sum, row) => sum + patternCount(messageOf(resource, row)), 0);
    if (count + patternCount(after) > max)
      throw resourceExhausted(organisation, `an organisation can have ${max} patterns in its identities`, undefined, {
        limit: String(max),
      });
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
  await requireBelow(maxCarryingKeys, where, text);
}
