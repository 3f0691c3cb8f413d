/**
 * Identity providers: an organisation's own login service. What a provider gives to its users, it gives in the name of whoever configured it, so
 * who changes whom it speaks for must hold all that it gives: the default role, and every role mapped to its groups.
 *
 * A provider also says which tokens act as its issuer's users in the organisation: those for its client, and where the organisation has no provider of
 * an issuer, those for any organisation's. Whoever changes that, by making, changing or deleting a provider, must hold all that the users are
 * granted there.
 */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { ExternalGroupRoleMappingSchema } from "../../../gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import {
  IdentityProvider_OIDC_CorrelationRule as CorrelationRule,
  type CreateIdentityProviderRequest,
  type DeleteIdentityProviderRequest,
  type IdentityProvider,
  type IdentityProvider_OIDC,
  IdentityProviderSchema,
  IdentityProvidersService,
  ListIdentityProvidersRequestSchema,
  type UpdateIdentityProviderRequest,
} from "../../../gen/platform/iam/v2/identity_providers_pb.ts";
import { type FieldViolation, invalid } from "../../errors.ts";
import {
  type Change,
  databaseOf,
  defineResource,
  environmentOf,
  equalTo,
  findRow,
  implement,
  insertResource,
  messageOf,
  pathName,
  present,
  type Resource,
  removeResource,
  removeSelected,
  type ServiceImplementation,
  standardMethods,
  transactionOf,
  updateResource,
} from "../../resource/index.ts";
import type { Row } from "../../store/index.ts";
import { parentOf } from "../../uid.ts";
import { grantableRole, requireAllGranted, requireGrantable } from "./grantable-roles.ts";
import { groups } from "./groups.ts";
import { httpsNeeded, isSameIssuer, ownIssuer } from "./identity-rules.ts";
import { bindingsOfUsers } from "./role-bindings.ts";
import { roles } from "./roles.ts";
import { removeSignIns } from "./sign-ins.ts";

export const identityProviders = defineResource({
  schema: IdentityProviderSchema,
  list: ListIdentityProvidersRequestSchema,
  parent: groups,
  isWatched: true,
  facets: {
    name: { text: (provider) => provider.name },
    issuer: { text: (provider) => oidcOf(provider).issuer },
    client_id: { text: (provider) => oidcOf(provider).clientId },
    default_role: { text: (provider) => provider.defaultRole },
  },
  filters: { name: equalTo("name") },
  async check(change, context) {
    const { parent, after } = change;
    const oidc = oidcOf(after);
    if (oidc.correlationRule === CorrelationRule.UNSPECIFIED) {
      oidc.correlationRule = CorrelationRule.SUB_EQUALS_EXTERNAL_ID;
    }
    oidc.clientSecret = sealedSecret(change, context);
    const role = await grantableRole(databaseOf(context), after.defaultRole, parent);
    const { allowLoopbackIssuers, issuerUrl } = environmentOf(context);
    const violations: FieldViolation[] = [];
    if (parentOf(parent) !== "") violations.push({ field: "parent", description: "must be a root group" });
    if (role === undefined) {
      violations.push({ field: "default_role", description: "no role that can be bound in this group" });
    }
    if (oidc.issuer.startsWith("http:") && !allowLoopbackIssuers) {
      violations.push({ field: "oidc.issuer", description: httpsNeeded });
    }
    if (isSameIssuer(oidc.issuer, issuerUrl)) violations.push({ field: "oidc.issuer", description: ownIssuer });
    if (oidc.clientSecret === "" && !oidc.pkceEnabled) {
      violations.push({ field: "oidc.client_secret", description: "is needed unless pkce_enabled is set" });
    }
    if (violations.length > 0 || role === undefined) throw invalid(violations);
    requireGrantable(role, parent, context);
  },
  async hydrate(messages) {
    for (const provider of messages) oidcOf(provider).clientSecret = "";
  },
});

/** @param mappings the roles of a provider's groups: deleted together with it. */
export function identityProvidersService(
  mappings: Resource<typeof ExternalGroupRoleMappingSchema>,
): ServiceImplementation {
  return implement(IdentityProvidersService, standardMethods(IdentityProvidersService, identityProviders), {
    async createIdentityProvider({ parent, identityProvider }: CreateIdentityProviderRequest, context) {
      const row = await insertResource(identityProviders, parent, identityProvider, context);
      await requireGrantsOfUsers(parent, [issuerOf(row)], context);
      return present(identityProviders, row, context);
    },

    async updateIdentityProvider({ identityProvider, updateMask }: UpdateIdentityProviderRequest, context) {
      const body = identityProvider ?? create(IdentityProviderSchema);
      const before = oidcOf(messageOf(identityProviders, await findRow(identityProviders, body.uid, context)));
      const row = await updateResource(identityProviders, body.uid, body, updateMask, context);
      const after = oidcOf(messageOf(identityProviders, row));
      if (speaksForOthers(before, after)) await requireMappedRoles(mappings, body.uid, context);
      if (before.issuer !== after.issuer || before.clientId !== after.clientId)
        await requireGrantsOfUsers(row.parent, [before.issuer, after.issuer], context);
      return present(identityProviders, row, context);
    },

    async deleteIdentityProvider(request: DeleteIdentityProviderRequest, context) {
      const row = await findRow(identityProviders, request.uid, context);
      await removeResource(identityProviders, request, context);
      const ofIssuer = { parent: row.parent, where: [{ column: "issuer", equals: issuerOf(row) }] };
      if (!(await databaseOf(context).exists(identityProviders.table, ofIssuer)))
        await requireGrantsOfUsers(row.parent, [issuerOf(row)], context);
      await removeSelected(mappings, { parent: request.uid }, context);
      await removeSignIns(request.uid, transactionOf(context));
      return {};
    },
  });
}

/** The OpenID Connect side of a provider; it is the only one there is. */
export function oidcOf({ configuration }: IdentityProvider): IdentityProvider_OIDC {
  if (configuration.case !== "oidc") throw new Error("an identity provider without configuration");
  return configuration.value;
}

/** The secret as it is stored. An empty one keeps what is stored, unless the mask names it; restating it changes nothing. */
function sealedSecret(
  { uid, before, after, paths }: Change<IdentityProvider>,
  context: Pick<HandlerContext, "values">,
): string {
  const given = oidcOf(after).clientSecret;
  const stored = before === undefined ? "" : oidcOf(before).clientSecret;
  if (given === stored) return stored;
  if (given === "") return paths?.some((path) => pathName(path) === "oidc.client_secret") ? "" : stored;
  const { secrets } = environmentOf(context);
  const place = `${uid} client_secret`;
  return secrets.open(stored, place) === given ? stored : secrets.seal(given, place);
}

/** Whether other users than before have the provider's word, or their groups come from elsewhere. */
function speaksForOthers(before: IdentityProvider_OIDC, after: IdentityProvider_OIDC): boolean {
  return (
    before.issuer !== after.issuer || before.clientId !== after.clientId || before.groupsClaim !== after.groupsClaim
  );
}

/** Errors: PERMISSION_DENIED unless the caller could map every role that is mapped. */
async function requireMappedRoles(
  mappings: Resource<typeof ExternalGroupRoleMappingSchema>,
  provider: string,
  context: HandlerContext,
): Promise<void> {
  const session = databaseOf(context);
  const rows = await session.list(mappings.table, {
    parent: provider,
    orderBy: [{ column: "uid", descending: false }],
    skip: 0,
    limit: Number.MAX_SAFE_INTEGER,
  });
  const mapped = await session.getMany(roles.table, [...new Set(rows.map((row) => String(row.facets.role_uid)))]);
  for (const row of mapped.values()) requireGrantable(messageOf(roles, row), parentOf(provider), context);
}

/** Errors: PERMISSION_DENIED unless the caller holds all that is granted in an organisation to the users of these issuers. */
async function requireGrantsOfUsers(
  organisation: string,
  issuers: readonly string[],
  context: HandlerContext,
): Promise<void> {
  for await (const bindings of bindingsOfUsers(databaseOf(context), organisation, issuers))
    await requireAllGranted(bindings, context);
}

function issuerOf({ facets }: Row): string {
  return String(facets.issuer);
}
