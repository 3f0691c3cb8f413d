/**
 * Grants as they are found in rows: where each comes from, and whether it counts. That of a role binding follows from
 * the functions that authorization uses (`auth/grants.ts`).
 *
 * A user belongs to no group, and who may not get users must not find out which exist. For such a reader a binding of a
 * user has the same condition whether the user exists or not.
 */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { GrantSource, GrantState } from "../../../../gen/platform/access/v1/access_pb.ts";
import { capabilityNamed, type Grant, holds } from "../../../auth/index.ts";
import { messageOf } from "../../../resource/index.ts";
import type { ReadSession, Row } from "../../../store/index.ts";
import { parentOf, rootOf } from "../../../uid.ts";
import { organisationsWithProvider, scopeOfBinding, withheldOf } from "../auth/grants.ts";
import { isActive } from "../auth/identity-source.ts";
import { administratorRoleUid } from "../built-in-roles.ts";
import { groupInvites } from "../group-invites.ts";
import { identities } from "../identities.ts";
import { identityProviders } from "../identity-providers.ts";
import { signIns, signInUid } from "../provisioning/sign-ins.ts";
import { roles } from "../roles.ts";

/** Who reads grants. */
export interface Reader {
  /** What the reader may read. */
  readonly grants: readonly Grant[];
  /** `iss` of the platform's own tokens. */
  readonly issuerUrl: string;
  /** The time of the call, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** A grant of a role. Of uids, "" is none. */
export interface FoundGrant {
  readonly source: GrantSource;
  readonly state: GrantState;
  /** What else must be true, or why it does not count. */
  readonly condition: string;
  readonly identity: string;
  readonly role: string;
  /** Where it counts: the uid of a group; "" is the whole platform. */
  readonly scope: string;
  readonly binding?: string;
  readonly provider?: string;
  readonly mapping?: Row;
  readonly invite?: Row;
}

const readingIdentities = [capabilityNamed("identity.list")];

/** Whether a reader may get an identity. */
export function mayGetIdentity({ grants }: Reader, uid: string): boolean {
  return holds(grants, uid, readingIdentities);
}

/** What is known of the identity of a binding. */
interface Known {
  readonly row: Row | undefined;
  readonly isActive: boolean;
  /** The organisations that accept a token of the user from their own identity providers only. */
  readonly closed: ReadonlySet<string>;
}

/** The grants of role bindings, in their order. */
export async function grantsOfBindings(
  session: ReadSession,
  reader: Reader,
  bindings: readonly Row[],
): Promise<FoundGrant[]> {
  const roleRows = await session.getMany(roles.table, uids(bindings, "role_uid"));
  const isKnown = (binding: Row) =>
    columnOf(binding, "role_uid") === administratorRoleUid || mayGetIdentity(reader, columnOf(binding, "identity_uid"));
  const ofUsers = bindings.filter((binding) => parentOf(columnOf(binding, "identity_uid")) === "");
  const ofKnownUsers = ofUsers.filter(isKnown);
  const [users, signedInBy] = await Promise.all([
    knownUsers(session, reader, ofKnownUsers),
    defaultRoleProviders(session, ofKnownUsers),
  ]);
  return bindings.map((binding) => {
    const identity = columnOf(binding, "identity_uid");
    const role = columnOf(binding, "role_uid");
    const row = roleRows.get(role);
    const user = parentOf(identity) !== "" ? "no user" : isKnown(binding) ? users.get(identity)! : "not shown";
    const provider = signedInBy.get(binding.uid);
    return {
      source:
        role === administratorRoleUid
          ? GrantSource.ADMINISTRATOR
          : provider === undefined
            ? GrantSource.ROLE_BINDING
            : GrantSource.DEFAULT_ROLE,
      ...judge(binding, row, user),
      identity,
      role,
      scope: scopeOfBinding(binding),
      binding: binding.uid,
      ...(provider !== undefined && { provider }),
    };
  });
}

/** Whether a binding counts. */
function judge(
  binding: Row,
  role: Row | undefined,
  user: Known | "no user" | "not shown",
): Pick<FoundGrant, "state" | "condition"> {
  const closed = typeof user === "string" ? new Set<string>() : user.closed;
  const withheld = withheldOf(binding, role, closed);
  if (withheld === "no role") return ineffective("the role does not exist");
  if (withheld === "outside") return ineffective("the group is not in the group of the identity");
  if (user === "no user") return { state: GrantState.ACTIVE, condition: "" };
  if (user === "not shown") return conditional("the user has signed in, and the organisation accepts the token");
  if (user.row === undefined) return conditional("the user signs in, which has not happened yet");
  if (!user.isActive) return ineffective("no identity provider has the issuer of the user");
  if (withheld === "closed") return conditional("an identity provider of the organisation accepts the token");
  return { state: GrantState.ACTIVE, condition: "" };
}

async function knownUsers(
  session: ReadSession,
  { issuerUrl }: Reader,
  bindings: readonly Row[],
): Promise<Map<string, Known>> {
  const rows = await session.getMany(identities.table, uids(bindings, "identity_uid"));
  const organisations = [...new Set(bindings.map(({ parent }) => rootOf(parent)))];
  const byIssuer = Map.groupBy(rows.values(), (row) => columnOf(row, "issuer"));
  const known = await Promise.all(
    [...byIssuer].map(async ([issuer, users]) => {
      const [isActiveNow, closed] = await Promise.all([
        isActive(session, users[0]!, issuerUrl),
        organisationsWithProvider(session, issuer, organisations),
      ]);
      return users.map((row): [string, Known] => [row.uid, { row, isActive: isActiveNow, closed }]);
    }),
  );
  const missing = { row: undefined, isActive: false, closed: new Set<string>() };
  return new Map([...uids(bindings, "identity_uid").map((uid): [string, Known] => [uid, missing]), ...known.flat()]);
}

/** By the uid of a binding to the default role of an identity provider that has signed the user in: that provider. */
async function defaultRoleProviders(session: ReadSession, bindings: readonly Row[]): Promise<Map<string, string>> {
  if (bindings.length === 0) return new Map();
  const where = [
    { column: "parent", in: [...new Set(bindings.map(({ parent }) => parent))] },
    { column: "default_role", in: uids(bindings, "role_uid") },
  ];
  const providers = await session.list(identityProviders.table, { where, limit: Number.MAX_SAFE_INTEGER });
  const pairs = bindings.flatMap((binding) =>
    providers
      .filter(({ parent, columns }) => parent === binding.parent && columns.default_role === binding.columns.role_uid)
      .map(({ uid }) => ({ binding, uid, signIn: signInUid(uid, columnOf(binding, "identity_uid")) })),
  );
  const found = await session.getMany(
    signIns,
    pairs.map(({ signIn }) => signIn),
  );
  return new Map(pairs.flatMap(({ binding, uid, signIn }) => (found.has(signIn) ? [[binding.uid, uid]] : [])));
}

/** The bindings that first sign-ins through identity providers will make. `user`: that of one user; "" of anybody. */
export function grantsOfDefaultRoles(providers: readonly Row[], user: string): FoundGrant[] {
  return providers.map((provider) => ({
    source: GrantSource.DEFAULT_ROLE,
    ...conditional(
      user === ""
        ? "it is a user whom the identity provider signs in for the first time"
        : "the identity provider signs the user in, which has not happened yet",
    ),
    identity: user,
    role: columnOf(provider, "default_role"),
    scope: provider.parent,
    provider: provider.uid,
  }));
}

/** The grants of external group role mappings. `user`: to one user; "" to anybody. */
export function grantsOfMappings(mappings: readonly Row[], user: string): FoundGrant[] {
  return mappings.map((mapping) => ({
    source: GrantSource.GROUP_MAPPING,
    ...conditional(
      user === ""
        ? "it is a user whom the identity provider signs in as a member of the external group"
        : "the identity provider signs the user in as a member of the external group",
    ),
    identity: user,
    role: columnOf(mapping, "role_uid"),
    scope: rootOf(mapping.parent),
    provider: mapping.parent,
    mapping,
  }));
}

/** The grants that group invites promise. */
export function grantsOfInvites({ nowMs }: Reader, invites: readonly Row[]): FoundGrant[] {
  return invites.map((invite): FoundGrant => {
    const { roleUid, expirationTime, email } = messageOf(groupInvites, invite);
    const isExpired = expirationTime === undefined || timestampMs(expirationTime) <= nowMs;
    const invitee = email === "" ? "who has its code" : "with its code and e-mail address";
    return {
      source: GrantSource.GROUP_INVITE,
      ...(isExpired
        ? ineffective("the invite has expired")
        : { state: GrantState.PENDING, condition: `somebody ${invitee} accepts the invite` }),
      identity: "",
      role: roleUid,
      scope: invite.parent,
      invite,
    };
  });
}

function conditional(condition: string) {
  return { state: GrantState.CONDITIONAL, condition };
}

function ineffective(condition: string) {
  return { state: GrantState.INEFFECTIVE, condition };
}

function uids(rows: readonly Row[], column: string): string[] {
  return [...new Set(rows.map((row) => columnOf(row, column)))];
}

function columnOf({ columns }: Row, column: string): string {
  return String(columns[column]);
}
