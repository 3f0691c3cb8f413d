/** Where rows of resources have sealed secrets, for the rotation of the key that seals them. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { contentOf, messageOf } from "../resource/index.ts";
import type { Row, TableSpec } from "../store/index.ts";
import { createSigningSecret, secretPlace } from "./events/signing-secret.ts";
import { subscriptions } from "./events/subscriptions.ts";
import { clientSecretPlace, identityProviders, oidcOf } from "./iam/identity-providers.ts";

/** Rows of one kind with a sealed secret each. */
export interface SealedKind {
  /** In messages. */
  readonly name: string;
  readonly table: TableSpec;
  /** The sealed secret of a row, and the place that it is sealed for; undefined if the row has none. */
  read(row: Row): { readonly sealed: string; readonly place: string } | undefined;
  /** The row with another sealed text. */
  write(row: Row, sealed: string): Row;
  /** What is left of a row whose secret is lost; undefined: nothing, the row is removed. */
  discard(row: Row, seal: (secret: string) => string, nowMs: number): Row | undefined;
}

/** The signing secrets of subscriptions. Without its own, a subscription is disabled. */
const signingSecrets: SealedKind = {
  name: "signing secrets of subscriptions",
  table: subscriptions.table,
  read: (row) => ({ sealed: messageOf(subscriptions, row).signingSecret, place: secretPlace(row.uid) }),
  write: (row, signingSecret) => ({
    ...row,
    ...contentOf(subscriptions, Object.assign(messageOf(subscriptions, row), { signingSecret })),
  }),
  discard(row, seal, nowMs) {
    const subscription = messageOf(subscriptions, row);
    subscription.signingSecret = seal(createSigningSecret());
    subscription.disableTime ??= timestampFromMs(nowMs);
    return { ...row, ...contentOf(subscriptions, subscription), updateTimeUs: nowMs * 1000 };
  },
};

/** The client secrets of identity providers. */
const clientSecrets: SealedKind = {
  name: "client secrets of identity providers",
  table: identityProviders.table,
  read(row) {
    const sealed = oidcOf(messageOf(identityProviders, row)).clientSecret;
    return sealed === "" ? undefined : { sealed, place: clientSecretPlace(row.uid) };
  },
  write: withClientSecret,
  discard: (row, _seal, nowMs) => ({ ...withClientSecret(row, ""), updateTimeUs: nowMs * 1000 }),
};

function withClientSecret(row: Row, clientSecret: string): Row {
  const provider = messageOf(identityProviders, row);
  oidcOf(provider).clientSecret = clientSecret;
  return { ...row, ...contentOf(identityProviders, provider) };
}

/** The secrets in rows of resources. */
export const sealedKinds: readonly SealedKind[] = [clientSecrets, signingSecrets];
