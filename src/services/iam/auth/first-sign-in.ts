/** The first sign-in of a user at a provider: its identity, unless it exists, and its first binding. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { IdentitySchema } from "../../../../gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingSchema } from "../../../../gen/platform/iam/v2/role_bindings_pb.ts";
import type { Claims } from "../../../auth/index.ts";
import { newUid } from "../../../new-uid.ts";
import { contentOf, messageOf, newRow, type RowChange } from "../../../resource/index.ts";
import type { Row, WriteSession } from "../../../store/index.ts";
import { identities } from "../identities.ts";
import { identityProviders } from "../identity-providers.ts";
import { signIns, signInUid } from "../provisioning/sign-ins.ts";
import { describeUser } from "../provisioning/user-claims.ts";
import { roleBindings } from "../role-bindings.ts";
import { reportIn, standingsOf } from "../user-reports.ts";

/** Whether a provider has signed a user in for the first time, and what that has created. */
interface SignedIn {
  readonly isFirst: boolean;
  readonly changes: readonly RowChange[];
}

/** Signs a user in. undefined if the provider does not exist, or refuses the user. */
export async function signInFirst(
  session: WriteSession,
  provider: string,
  identity: string,
  claims: Claims,
  nowMs: number,
): Promise<SignedIn | undefined> {
  const [row, standing] = [
    await session.get(identityProviders.table, provider),
    await standingsOf(session, [provider], identity),
  ];
  if (row === undefined || standing.get(provider) === "deleted") return undefined;
  if (standing.get(provider) === "known") return { isFirst: false, changes: [] };
  const changes: RowChange[] = [];
  const known = await session.get(identities.table, identity);
  const user = known ?? (await insertUser(session, identity, claims, nowMs));
  if (known === undefined) changes.push({ kind: "created", resource: identities, row: user });
  // Never older than the user, whatever the clock of another server says: that would mean that it was deleted since.
  const timeMs = Math.max(nowMs, user.createTimeUs / 1000);
  const report = { body: reportIn(claims), columns: {} };
  await session.insert(signIns, newRow(signInUid(provider, identity), provider, timeMs, report));
  const { defaultRole } = messageOf(identityProviders, row);
  const binding = await bindUser(session, identity, row.parent, defaultRole, nowMs);
  if (binding !== undefined) changes.push({ kind: "created", resource: roleBindings, row: binding });
  return { isFirst: true, changes };
}

async function insertUser(session: WriteSession, uid: string, claims: Claims, nowMs: number): Promise<Row> {
  const rule = {
    iss: { case: "issuer", value: claims.iss },
    sub: { case: "subject", value: claims.sub },
  } as const;
  const user = create(IdentitySchema, {
    ...describeUser(claims),
    lastSeenTime: timestampFromMs(nowMs),
    relationship: { case: "claimMatch", value: rule },
  });
  return session.insert(identities.table, newRow(uid, "", nowMs, contentOf(identities, user)));
}

/** Binds the user to the role in the organisation, unless it is bound already. */
async function bindUser(
  session: WriteSession,
  identityUid: string,
  organisation: string,
  roleUid: string,
  nowMs: number,
): Promise<Row | undefined> {
  const where = [
    { column: "identity_uid", equals: identityUid },
    { column: "role_uid", equals: roleUid },
  ];
  if (await session.exists(roleBindings.table, { parent: organisation, where })) return undefined;
  const binding = create(RoleBindingSchema, { identityUid, roleUid });
  const content = contentOf(roleBindings, binding);
  return session.insert(roleBindings.table, newRow(newUid(organisation), organisation, nowMs, content));
}
