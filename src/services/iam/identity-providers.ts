/**
 * Identity providers: the login service of an organisation. A provider grants its users roles on behalf of the caller
 * who configured it. So a caller who changes which users it speaks for must hold everything that it grants: the default
 * role, and every role mapped to its groups.
 *
 * A provider also decides which tokens act as users of its issuer in the organisation: those for its client. Without a
 * provider of the issuer, tokens for any organisation do. A caller who changes that, by creating, changing or deleting
 * a provider, must hold everything that these users are granted in the organisation. A change or a deletion that leaves
 * no owner who could sign in is refused.
 */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { ExternalGroupRoleMappingSchema } from "../../../gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import {
  IdentityProvider_OIDC_CorrelationRule as CorrelationRule,
  type IdentityProvider,
  type IdentityProvider_OIDC,
  IdentityProviderSchema,
  IdentityProvidersService,
  ListIdentityProvidersRequestSchema,
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
  type MountedService,
  messageOf,
  pathName,
  type Resource,
  removeResource,
  toResponse,
  transactionOf,
  updateResource,
} from "../../resource/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { parentOf } from "../../uid.ts";
import { grantableRole, requireAllGranted, requireGrantable } from "./grantable-roles.ts";
import { groups } from "./groups.ts";
import { httpsNeeded, isSameIssuer, ownIssuer } from "./identity-rules.ts";
import { provisioningTable } from "./provisioning/settings.ts";
import { roles } from "./roles.ts";

export const identityProviders = defineResource({
  schema: IdentityProviderSchema,
  list: ListIdentityProvidersRequestSchema,
  parent: groups,
  onParentDelete: "block",
  invalidatesAuthCache: true,
  columns: {
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

/** Reads the bindings of users of these issuers in an organisation, in portions. */
type BindingsOfUsers = (
  session: ReadSession,
  organisation: string,
  issuers: readonly string[],
) => AsyncIterable<readonly Row[]>;
/** Runs a change of a provider, unless it locks the organisation out. */
type KeepOwner = <T>(
  provider: { readonly uid: string; readonly force: boolean },
  context: HandlerContext,
  change: () => Promise<T>,
) => Promise<T>;

/** @param mappings the roles of a provider's groups. */
export function identityProvidersService(
  mappings: Resource<typeof ExternalGroupRoleMappingSchema>,
  bindingsOfUsers: BindingsOfUsers,
  keepingAnOwner: KeepOwner,
): MountedService {
  /**
   * Errors: PERMISSION_DENIED unless the caller holds everything that is granted in an organisation to the users of
   * these issuers.
   */
  async function requireGrantsOfUsers(
    organisation: string,
    issuers: readonly string[],
    context: HandlerContext,
  ): Promise<void> {
    for await (const bindings of bindingsOfUsers(databaseOf(context), organisation, issuers))
      await requireAllGranted(bindings, context);
  }

  return implement(IdentityProvidersService, [identityProviders], {
    async createIdentityProvider({ parent, identityProvider }, context) {
      const row = await insertResource(identityProviders, parent, identityProvider, context);
      await requireGrantsOfUsers(parent, [issuerOf(row)], context);
      return toResponse(identityProviders, row, context);
    },

    async updateIdentityProvider(request, context) {
      const { identityProvider: body = create(IdentityProviderSchema), updateMask, force } = request;
      return keepingAnOwner({ uid: body.uid, force }, context, async () => {
        const before = oidcOf(messageOf(identityProviders, await findRow(identityProviders, body.uid, context)));
        const row = await updateResource(identityProviders, body.uid, body, updateMask, context);
        const after = oidcOf(messageOf(identityProviders, row));
        if (speaksForOthers(before, after)) await requireMappedRoles(mappings, body.uid, context);
        if (before.issuer !== after.issuer || before.clientId !== after.clientId)
          await requireGrantsOfUsers(row.parent, [before.issuer, after.issuer], context);
        return toResponse(identityProviders, row, context);
      });
    },

    async deleteIdentityProvider({ uid, etag, force }, context) {
      return keepingAnOwner({ uid, force }, context, async () => {
        const row = await findRow(identityProviders, uid, context);
        await removeResource(identityProviders, { uid, etag }, context);
        const ofIssuer = { parent: row.parent, where: [{ column: "issuer", equals: issuerOf(row) }] };
        if (!(await databaseOf(context).exists(identityProviders.table, ofIssuer)))
          await requireGrantsOfUsers(row.parent, [issuerOf(row)], context);
        // Housekeeping removes its sign-ins and its directory, of which there may be very many.
        await transactionOf(context).remove(provisioningTable, uid);
        return {};
      });
    },
  });
}

/** The OpenID Connect configuration of a provider, the only kind there is. */
export function oidcOf({ configuration }: IdentityProvider): IdentityProvider_OIDC {
  if (configuration.case !== "oidc") throw new Error("an identity provider without configuration");
  return configuration.value;
}

/** The context that the client secret of a provider is sealed for. */
export function clientSecretPlace(uid: string): string {
  return `${uid} client_secret`;
}

/**
 * The secret as it is stored. An empty one keeps the stored one unless the mask names it. An equal one changes nothing.
 */
function sealedSecret(
  { uid, before, after, paths }: Change<IdentityProvider>,
  context: Pick<HandlerContext, "values">,
): string {
  const given = oidcOf(after).clientSecret;
  const stored = before === undefined ? "" : oidcOf(before).clientSecret;
  if (given === stored) return stored;
  if (given === "") return paths?.some((path) => pathName(path) === "oidc.client_secret") ? "" : stored;
  const { secrets } = environmentOf(context);
  const sealedFor = clientSecretPlace(uid);
  return secrets.open(stored, sealedFor) === given ? stored : secrets.seal(given, sealedFor);
}

/** Whether the provider speaks for other users than before, or their groups come from another claim. */
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
    limit: Number.MAX_SAFE_INTEGER,
  });
  const mapped = await session.getMany(roles.table, [...new Set(rows.map((row) => String(row.columns.role_uid)))]);
  for (const row of mapped.values()) requireGrantable(messageOf(roles, row), parentOf(provider), context);
}

function issuerOf({ columns }: Row): string {
  return String(columns.issuer);
}
