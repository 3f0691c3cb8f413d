/** The first sign-in of a user: its identity, and its first binding at each provider. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { IdentitySchema } from "../../../../gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingSchema } from "../../../../gen/platform/iam/v2/role_bindings_pb.ts";
import type { Claims, Provider } from "../../../auth/index.ts";
import { newUid } from "../../../new-uid.ts";
import { contentOf, messageOf, newRow, type RowChange } from "../../../resource/index.ts";
import type { ReadSession, Row, WriteSession } from "../../../store/index.ts";
import { identities } from "../identities.ts";
import { identityProviders } from "../identity-providers.ts";
import { roleBindings } from "../role-bindings.ts";
import { signIns, signInUid } from "../sign-ins.ts";
import { describeUser } from "./user-claims.ts";

/**
 * The state of a user: `known` to all of the providers, `new` to at least one, or `deleted` since one of them signed it
 * in.
 */
export async function stateOf(
  session: ReadSession,
  providers: readonly Provider[],
  identity: string,
): Promise<"known" | "new" | "deleted"> {
  const known = await session.getMany(
    signIns,
    providers.map(({ uid }) => signInUid(uid, identity)),
  );
  if (known.size > 0 && !(await session.exists(identities.table, { uids: [identity] }))) return "deleted";
  return known.size === providers.length ? "known" : "new";
}

/** What a first sign-in has created, and at which providers it was the first. */
export interface FirstSignIn {
  readonly changes: readonly RowChange[];
  readonly providers: readonly string[];
}

/**
 * Returns what it creates; undefined when the user is not signed in, because the state has changed since it was read.
 */
export async function signInFirst(
  session: WriteSession,
  providers: readonly Provider[],
  identity: string,
  claims: Claims,
  nowMs: number,
): Promise<FirstSignIn | undefined> {
  const rows = await session.getMany(
    identityProviders.table,
    providers.map(({ uid }) => uid),
  );
  const remaining = providers.filter(({ uid }) => rows.has(uid));
  const state = await stateOf(session, remaining, identity);
  if (remaining.length === 0 || state === "deleted") return undefined;
  const changes: RowChange[] = [];
  const signedIn: string[] = [];
  if (!(await session.exists(identities.table, { uids: [identity] }))) {
    changes.push({
      kind: "created",
      resource: identities,
      row: await insertUser(session, identity, claims, nowMs),
    });
  }
  for (const row of rows.values()) {
    const signIn = signInUid(row.uid, identity);
    if (await session.exists(signIns, { uids: [signIn] })) continue;
    signedIn.push(row.uid);
    await session.insert(signIns, newRow(signIn, row.uid, nowMs, { body: new Uint8Array(), columns: {} }));
    const { defaultRole } = messageOf(identityProviders, row);
    const binding = await bindUser(session, identity, row.parent, defaultRole, nowMs);
    if (binding !== undefined) changes.push({ kind: "created", resource: roleBindings, row: binding });
  }
  return { changes, providers: signedIn };
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
