/** Provisioning by SCIM of identity providers, which is set up by methods of v1 alone. */
import { create, type DescMessage, type DescMethod, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, durationMs, type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import * as v1 from "../../../gen/platform/iam/v1/identity_providers_pb.ts";
import { aborted, failedPrecondition, invalid, notFound } from "../../errors.ts";
import { databaseOf, environmentOf, findRow, messageOf, rewriteResource, transactionOf } from "../../resource/index.ts";
import type { Handler, MethodTranslations } from "../../translation/index.ts";
import { keepingAnOwner } from "../iam/auth/last-owner.ts";
import { identityProviders } from "../iam/identity-providers.ts";
import {
  newToken,
  readManyProvisionings,
  readProvisioning,
  type StoredProvisioning,
  writeProvisioning,
} from "../iam/provisioning/settings.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const defaultLifeMs = 365 * dayMs;
const maxLifeMs = 2 * defaultLifeMs;
const defaultOverlapMs = hourMs;
const maxOverlapMs = dayMs;

/** Where provisioning clients reach the server. */
function endpointOf(context: HandlerContext): string {
  return `${environmentOf(context).baseUrl}/scim/v2`;
}

/** The methods that set provisioning up. */
export function provisioningMethods({ custom }: MethodTranslations) {
  const handle =
    <R extends { readonly identityProviderId: string }>(
      work: (request: R, state: StoredProvisioning, context: HandlerContext) => Promise<object>,
    ) =>
    (method: DescMethod): Handler =>
      custom(method, undefined, async (message, context) => {
        const request = message as Message & R;
        const { identityProviderId } = request;
        const row = await findRow(identityProviders, identityProviderId, context);
        const state = await readProvisioning(databaseOf(context), identityProviderId);
        const answer = await work(request, state, context);
        // The provider has changed, which its subscribers learn.
        await rewriteResource(identityProviders, row, messageOf(identityProviders, row), context);
        return create(method.output, { ...answer, identityProviderId } as MessageInitShape<DescMessage>);
      });

  return {
    generateScimToken: handle(async (request: v1.GenerateScimTokenRequest, state, context) => {
      if (state.token !== undefined)
        throw failedPrecondition({
          type: "TOKEN_EXISTS",
          subject: request.identityProviderId,
          description: "the identity provider has had a token; replace it by RegenerateScimToken",
        });
      const { nowMs } = environmentOf(context);
      const expireMs = expiryOf(request, nowMs);
      const token = newToken();
      const change = { ...settingsOf(state), token: { expireMs }, newToken: token };
      const { etag } = await writeProvisioning(transactionOf(context), request.identityProviderId, change, nowMs);
      return { token, endpointUrl: endpointOf(context), etag, ...timeOf("expireTime", expireMs) };
    }),

    regenerateScimToken: handle(async (request: v1.RegenerateScimTokenRequest, state, context) => {
      const { identityProviderId, overlap } = request;
      if (state.token === undefined)
        throw notFound({ type: identityProviders.contract.type, uid: identityProviderId }, "there is no token yet");
      requireEtag(request.etag, state);
      const { nowMs } = environmentOf(context);
      const overlapMs = overlap === undefined ? defaultOverlapMs : durationMs(overlap);
      const isLive = state.revokeMs === undefined && overlapMs > 0;
      const untilMs = Math.min(
        nowMs + Math.min(overlapMs, maxOverlapMs),
        state.token.expireMs ?? Number.MAX_SAFE_INTEGER,
      );
      const expireMs = expiryOf(request, nowMs);
      const token = newToken();
      const change = {
        isEnabled: state.isEnabled,
        token: { expireMs },
        previousExpireMs: isLive ? untilMs : undefined,
        revokeMs: undefined,
        newToken: token,
        keepsPrevious: isLive,
      };
      const { etag } = await writeProvisioning(transactionOf(context), identityProviderId, change, nowMs);
      return {
        token,
        endpointUrl: endpointOf(context),
        etag,
        ...timeOf("expireTime", expireMs),
        ...timeOf("previousTokenExpireTime", change.previousExpireMs),
        requestedOverlap: durationFromMs(overlapMs),
      };
    }),

    revokeScimToken: handle(async ({ identityProviderId }: v1.RevokeScimTokenRequest, state, context) => {
      const { nowMs } = environmentOf(context);
      const change = { ...settingsOf(state), previousExpireMs: undefined, revokeMs: nowMs, newToken: "" };
      const { etag } = await writeProvisioning(transactionOf(context), identityProviderId, change, nowMs);
      return { etag, enabled: state.isEnabled, revokeTime: timestampFromMs(nowMs) };
    }),

    setScimEnabled: handle(async (request: v1.SetScimEnabledRequest, state, context) => {
      const { identityProviderId, enabled, etag, force } = request;
      requireEtag(etag, state);
      const { nowMs } = environmentOf(context);
      const change = { ...settingsOf(state), isEnabled: enabled };
      const written = await keepingAnOwner({ uid: identityProviderId, force }, context, () =>
        writeProvisioning(transactionOf(context), identityProviderId, change, nowMs),
      );
      return { enabled, etag: written.etag };
    }),
  };
}

/** Completes providers: those of a list with less than the only one. */
export async function supplyProvisioning(
  items: readonly v1.IdentityProvider[],
  context: HandlerContext,
): Promise<void> {
  const states = await readManyProvisionings(
    databaseOf(context),
    items.map(({ id }) => id),
  );
  const { nowMs } = environmentOf(context);
  for (const item of items) {
    const state = states.get(item.id)!;
    item.scim = create(v1.IdentityProvider_SCIMSchema, {
      enabled: state.isEnabled,
      endpointUrl: endpointOf(context),
      etag: state.etag,
      ...(items.length === 1 && {
        credentialState: credentialStateOf(state, nowMs),
        ...timeOf("tokenExpireTime", state.token?.expireMs),
        ...timeOf("previousTokenExpireTime", state.previousExpireMs),
      }),
    });
  }
}

function credentialStateOf(
  { token, revokeMs, previousExpireMs = 0 }: StoredProvisioning,
  nowMs: number,
): v1.IdentityProvider_SCIM_CredentialState {
  const states = v1.IdentityProvider_SCIM_CredentialState;
  if (token === undefined) return states.NOT_ISSUED;
  if (revokeMs !== undefined) return states.REVOKED;
  if (token.expireMs !== undefined && token.expireMs <= nowMs) return states.EXPIRED;
  return previousExpireMs > nowMs ? states.ROTATING : states.LIVE;
}

function settingsOf({ isEnabled, token, previousExpireMs, revokeMs }: StoredProvisioning) {
  return { isEnabled, token, previousExpireMs, revokeMs };
}

/** Errors: ABORTED for another etag. */
function requireEtag(etag: string, state: StoredProvisioning): void {
  if (etag !== state.etag) throw aborted("the provisioning has changed since its etag was read");
}

/** When a token expires; undefined for never. Errors: INVALID_ARGUMENT. */
function expiryOf(
  { expireTime, neverExpires }: { readonly expireTime?: Timestamp | undefined; readonly neverExpires: boolean },
  nowMs: number,
): number | undefined {
  if (expireTime === undefined) return neverExpires ? undefined : nowMs + defaultLifeMs;
  if (neverExpires) throw invalid({ field: "expire_time", description: "does not go with never_expires" });
  const expireMs = timestampMs(expireTime);
  if (expireMs <= nowMs || expireMs > nowMs + maxLifeMs)
    throw invalid({ field: "expire_time", description: "must be in the future, at most two years from now" });
  return expireMs;
}

function timeOf(name: string, timeMs: number | undefined): object {
  return timeMs === undefined ? {} : { [name]: timestampFromMs(timeMs) };
}
