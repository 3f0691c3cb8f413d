/**
 * Why an identity may do something at a scope, or not. The verdict is that of authorization: `holds` on the grants that
 * `readGrants` finds for a caller that is the identity. A user is two callers: one whose token no identity provider has
 * accepted, and one whose token all of them have, with every external group. What only the second may do is
 * conditional.
 */
import { create } from "@bufbuild/protobuf";
import {
  type AccessRole,
  type ExplainResponse,
  ExplainResponseSchema,
  GrantState,
  Verdict,
} from "../../../../gen/platform/access/v1/access_pb.ts";
import type { Capability } from "../../../../gen/platform/capabilities/capabilities_pb.ts";
import { capabilityList, type Grant, holds } from "../../../auth/index.ts";
import type { ReadSession, Row } from "../../../store/index.ts";
import { ancestorsOf, covers, parentOf } from "../../../uid.ts";
import { counted } from "../../../violations.ts";
import { capabilitiesOf, readGrants, scopeOfBinding } from "../auth/grants.ts";
import { isActive } from "../auth/identity-source.ts";
import { isAdministrator } from "../bootstrap.ts";
import { administratorRole, builtInRoles } from "../built-in-roles.ts";
import { externalGroupRoleMappings } from "../external-group-role-mappings.ts";
import { identities } from "../identities.ts";
import { withoutSignIn } from "../provisioning/sign-ins.ts";
import { roleBindings } from "../role-bindings.ts";
import { roles } from "../roles.ts";
import {
  type FoundGrant,
  grantsOfBindings,
  grantsOfDefaultRoles,
  grantsOfMappings,
  mayGetIdentity,
  type Reader,
} from "./found-grants.ts";
import { providersOf } from "./list.ts";
import { grantMessages, groupMessages, identityMessages, roleMessages } from "./messages.ts";

/** What is asked: whether the identity holds the capability at the scope, all by uid. */
export interface Question {
  readonly identity: string;
  readonly capability: Capability;
  readonly scope: string;
}

/** Whether tokens may speak for the identity. A user that the reader may not get is "not shown". */
type Standing = "active" | "missing" | "inactive" | "not shown";

const all = { limit: Number.MAX_SAFE_INTEGER };
/** The grants and roles of a kind that an answer has. */
const maxListed = 100;

/** Answers a question. */
export async function explainAccess(
  session: ReadSession,
  reader: Reader,
  question: Question,
): Promise<ExplainResponse> {
  const { identity, capability, scope } = question;
  const [identified, providers] = await Promise.all([
    identify(session, reader, identity),
    providersOf(session, reader, identity, scope),
  ]);
  const [mappings, unknown] = await Promise.all([
    mappingsOf(session, providers),
    withoutSignIn(session, providers, identity),
  ]);
  const facts = { ...identified, providers, mappings, firsts: grantsOfDefaultRoles(unknown, identity) };
  const [verdict, { giving, lacking, below }] = await Promise.all([
    verdictOn(session, question, facts),
    findGrants(session, reader, question, facts),
  ]);
  const grants = giving.toSorted((a, b) => b.scope.length - a.scope.length);
  const others = [...lacking.slice(0, maxListed), ...below.slice(0, maxListed)];
  const path = [...ancestorsOf(scope), scope];
  const [ofIdentity, ofGroups, allowing, otherGrants, bindable] = await Promise.all([
    identityMessages(session, reader, [identity]),
    groupMessages(session, reader, path),
    grantMessages(session, reader, grants.slice(0, maxListed), scope),
    grantMessages(session, reader, others, scope),
    verdict === Verdict.ALLOWED ? [] : rolesWith(session, reader, capability, path),
  ]);
  return create(ExplainResponseSchema, {
    verdict,
    capability,
    identity: ofIdentity.get(identity)!,
    groups: [...ofGroups.values()],
    grants: allowing,
    otherGrants,
    missing:
      verdict === Verdict.ALLOWED
        ? []
        : verdict === Verdict.CONDITIONAL
          ? [...new Set(grants.map(({ condition }) => `It is allowed if ${condition}.`))].slice(0, maxListed)
          : missingOf(question, facts.standing, { lacking, below }),
    roles: bindable,
  });
}

/** The identity, as far as the reader may know. That an administrator exists is known to all. */
async function identify(
  session: ReadSession,
  reader: Reader,
  identity: string,
): Promise<{ readonly standing: Standing; readonly row: Row | undefined }> {
  const isShown = mayGetIdentity(reader, identity) || (await isAdministrator(session, identity));
  if (!isShown) return { standing: parentOf(identity) === "" ? "not shown" : "active", row: undefined };
  const row = await session.get(identities.table, identity);
  if (row === undefined) return { standing: "missing", row };
  return { standing: (await isActive(session, row, reader.issuerUrl)) ? "active" : "inactive", row };
}

interface Facts {
  readonly standing: Standing;
  readonly row: Row | undefined;
  readonly providers: readonly Row[];
  readonly mappings: readonly Row[];
  /** What first sign-ins would grant. */
  readonly firsts: readonly FoundGrant[];
}

async function verdictOn(
  session: ReadSession,
  { identity, capability, scope }: Question,
  { standing, row, providers, mappings, firsts }: Facts,
): Promise<Verdict> {
  const isHeld = (grants: readonly Grant[]) => holds(grants, scope, [capability]);
  const isUser = parentOf(identity) === "";
  if (standing === "inactive" || (standing === "missing" && !isUser)) return Verdict.DENIED;
  const outsideIssuer = row === undefined ? undefined : String(row.columns.issuer);
  const caller = { identities: [identity], ...(outsideIssuer !== undefined && { outsideIssuer }) };
  if (isHeld(await readGrants(session, caller)))
    return isUser && standing !== "active" ? Verdict.CONDITIONAL : Verdict.ALLOWED;
  if (providers.length === 0) return Verdict.DENIED;
  const groupsOf = (provider: Row) =>
    mappings.filter(({ parent }) => parent === provider.uid).map(({ columns }) => String(columns.external_group_id));
  const signedIn = providers.map((provider) => ({ uid: provider.uid, externalGroups: groupsOf(provider) }));
  const most = await readGrants(session, { ...caller, providers: signedIn });
  const sets = await capabilitySets(session, firsts);
  const granted = firsts.map(({ scope, role }) => ({ scope, capabilities: sets.get(role) ?? new Set(), identity }));
  return isHeld([...most, ...granted]) ? Verdict.CONDITIONAL : Verdict.DENIED;
}

/** The grants of the identity that cover the scope, with and without the capability, and those below that have it. */
async function findGrants(
  session: ReadSession,
  reader: Reader,
  { identity, capability, scope }: Question,
  { mappings, firsts }: Facts,
): Promise<Record<"giving" | "lacking" | "below", readonly FoundGrant[]>> {
  const where = [{ column: "identity_uid", equals: identity }];
  const bindings = await session.list(roleBindings.table, { where, ...all });
  const isCovering = (binding: Row) => covers(scopeOfBinding(binding), scope);
  const inside = bindings.filter((binding) => !isCovering(binding) && covers(scope, binding.parent));
  const [above, below] = await Promise.all([
    grantsOfBindings(session, reader, bindings.filter(isCovering)),
    grantsOfBindings(session, reader, inside),
  ]);
  const covering = [...above, ...firsts, ...grantsOfMappings(mappings, identity)];
  const sets = await capabilitySets(session, [...covering, ...below]);
  const gives = ({ state, role }: FoundGrant) =>
    state !== GrantState.INEFFECTIVE && sets.get(role)?.has(capability) === true;
  return {
    giving: covering.filter(gives),
    lacking: covering.filter((grant) => !gives(grant)),
    below: below.filter(gives),
  };
}

/** The capabilities of the roles of grants, by uid. */
async function capabilitySets(session: ReadSession, grants: readonly FoundGrant[]) {
  const rows = await session.getMany(roles.table, [...new Set(grants.map(({ role }) => role))]);
  return new Map([...rows].map(([uid, row]) => [uid, capabilitiesOf(row)]));
}

async function mappingsOf(session: ReadSession, providers: readonly Row[]): Promise<Row[]> {
  if (providers.length === 0) return [];
  const within = providers.map(({ uid }) => ({ root: uid, self: false }));
  return session.list(externalGroupRoleMappings.table, { within, ...all });
}

/** The roles with a capability that can be bound at a scope, those with the fewest capabilities first. */
async function rolesWith(
  session: ReadSession,
  reader: Reader,
  capability: Capability,
  path: readonly string[],
): Promise<AccessRole[]> {
  const where = [{ column: "parent", in: path }];
  const own = await session.list(roles.table, { where, within: [{ root: path[0]!, self: false }], limit: 1000 });
  const sets = [
    ...[...builtInRoles].flatMap(([uid, role]) =>
      role.name === administratorRole ? [] : [{ uid, set: new Set(role.capabilities) }],
    ),
    ...own.map((row) => ({ uid: row.uid, set: capabilitiesOf(row) })),
  ];
  const uids = sets
    .filter(({ set }) => set.has(capability))
    .sort((a, b) => a.set.size - b.set.size)
    .map(({ uid }) => uid);
  const messages = await roleMessages(session, reader, uids);
  return [...messages.values()].filter(({ name }) => name !== "").slice(0, maxListed);
}

/** What is missing where nothing allows it, in sentences. */
function missingOf(
  { identity, capability, scope }: Question,
  standing: Standing,
  { lacking, below }: { readonly lacking: readonly FoundGrant[]; readonly below: readonly FoundGrant[] },
): string[] {
  const home = parentOf(identity);
  const name = capabilityList([capability]);
  const ineffective = lacking.filter(({ state }) => state === GrantState.INEFFECTIVE);
  const others = lacking.length - ineffective.length;
  const isOutside = !covers(home, scope);
  return [
    ...(standing === "missing"
      ? [home === "" ? "No user with this uid has signed in." : "No identity has this uid."]
      : []),
    ...(standing === "inactive" ? ["No identity provider has the issuer of the user, so no token speaks for it."] : []),
    ...(isOutside ? [`The identity is of the group ${home}. Outside that group nothing can be granted to it.`] : []),
    ...(lacking.length === 0 && !isOutside ? ["No grant of the identity covers the scope."] : []),
    ...(others === 0 ? [] : [`${counted(others, "grant")} of the identity for the scope: none has ${name}.`]),
    ...ineffective
      .slice(0, maxListed)
      .map(({ role, condition }) => `The grant of the role ${role} does not count: ${condition}.`),
    ...(below.length === 0 ? [] : [`The identity has ${name} only below the scope.`]),
  ];
}
