/**
 * Changes of identity providers do not lock an organisation out by accident: one is refused if some owner could sign in
 * before it, and none could afterwards.
 *
 * - An owner is bound to the built-in role `owner` in the root group. Roles by external groups do not count: the
 *   platform knows the groups of a user from its tokens only. Administrators do not count either.
 * - An identity in the root group can sign in while a token can match it. Static keys must not have expired.
 * - A user can sign in while an identity provider of the organisation lets it in. A provider whose issuer or client is
 *   changed does not count: its tokens of before are refused, and nobody has signed in with the new ones.
 */
import type { HandlerContext } from "@connectrpc/connect";
import type { Awaitable } from "../../../awaitable.ts";
import { failedPrecondition } from "../../../errors.ts";
import { type CallEnvironment, databaseOf, environmentOf, messageOf } from "../../../resource/index.ts";
import type { ReadSession, Row } from "../../../store/index.ts";
import { rootOf } from "../../../uid.ts";
import { builtInRoleUid, ownerRole } from "../built-in-roles.ts";
import { identities } from "../identities.ts";
import { identityProviders } from "../identity-providers.ts";
import { ruleViolations } from "../identity-rules.ts";
import { roleBindings } from "../role-bindings.ts";
import { isAnyAdmitted } from "./provisioned-users.ts";

const pageSize = 200;
/** How many role bindings of owners are looked at, at most. */
const maxOwners = 1000;

/** Runs a change of an identity provider. Errors: those of the change; FAILED_PRECONDITION unless `force`. */
export async function keepingAnOwner<T>(
  { uid, force }: { readonly uid: string; readonly force: boolean },
  context: HandlerContext,
  change: () => Promise<T>,
): Promise<T> {
  const organisation = rootOf(uid);
  const before = force ? [] : await providersOf(databaseOf(context), organisation);
  const hadOwner = !force && (await canOwnerSignIn(organisation, before, context));
  const result = await change();
  if (!hadOwner) return result;
  const remaining = (await providersOf(databaseOf(context), organisation)).filter((row) =>
    before.some((other) => other.uid === row.uid && signsInBy(other) === signsInBy(row)),
  );
  if (await canOwnerSignIn(organisation, remaining, context)) return result;
  throw failedPrecondition({
    type: "LAST_OWNER",
    subject: uid,
    description:
      "no owner of the organisation could sign in afterwards; bind an identity of its root group, or a user whom " +
      "another identity provider lets in, to the role owner in the root group, or set force",
  });
}

/** Whether an owner of an organisation can sign in, if it has these identity providers. */
async function canOwnerSignIn(
  organisation: string,
  providers: readonly Row[],
  context: HandlerContext,
): Promise<boolean> {
  const session = databaseOf(context);
  const environment = environmentOf(context);
  const where = [{ column: "role_uid", equals: builtInRoleUid(ownerRole) }];
  let seen = 0;
  for await (const bindings of session.pages(roleBindings.table, { parent: organisation, where, limit: pageSize })) {
    const uids = bindings.map(({ columns }) => String(columns.identity_uid));
    const owners = [...(await session.getMany(identities.table, uids)).values()];
    if (owners.some((row) => row.parent === organisation && isMatchable(row, environment))) return true;
    const users = owners.filter(({ parent }) => parent === "");
    for (const { uid, columns } of providers) {
      const ofIssuer = users.filter((user) => user.columns.issuer === columns.issuer).map((user) => user.uid);
      if (ofIssuer.length > 0 && (await isAnyAdmitted(session, uid, ofIssuer))) return true;
    }
    seen += bindings.length;
    if (seen >= maxOwners) break;
  }
  return false;
}

/** Whether a token can match the rule of an identity: the rule would be accepted for a new one. */
function isMatchable(row: Row, environment: CallEnvironment): boolean {
  return ruleViolations({ before: undefined, after: messageOf(identities, row) }, environment).length === 0;
}

function providersOf(session: ReadSession, organisation: string): Awaitable<Row[]> {
  return session.list(identityProviders.table, { parent: organisation, limit: Number.MAX_SAFE_INTEGER });
}

/** What the tokens of a provider's users name. */
function signsInBy({ columns }: Row): string {
  return JSON.stringify([columns.issuer, columns.client_id]);
}
