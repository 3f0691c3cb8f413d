/**
 * Provisioning by SCIM of an identity provider: whether it is on, and the tokens of the provisioning client. Tokens are
 * kept as digests. While a token is replaced, the one before it works for a while.
 */
import { createHash, randomBytes } from "node:crypto";
import { newRow } from "../../../resource/index.ts";
import type { ReadSession, Row, TableSpec, WriteSession } from "../../../store/index.ts";
import { parentOf } from "../../../uid.ts";

/** What is stored of a provider. Times are in milliseconds since 1970. */
export interface Provisioning {
  readonly isEnabled: boolean;
  /** undefined until the first token is made. */
  readonly token: { readonly expireMs: number | undefined } | undefined;
  /** Until when the token before it works. */
  readonly previousExpireMs: number | undefined;
  readonly revokeMs: number | undefined;
}

/** The state of a provider, with its version. */
export interface StoredProvisioning extends Provisioning {
  /** Changes with every change. */
  readonly etag: string;
}

/** The rows have the uids of the providers. */
export const provisioningTable: TableSpec = {
  name: "scim_settings",
  columns: { token_digest: "text", previous_digest: "text" },
  isWatched: true,
};

const none: StoredProvisioning = {
  isEnabled: false,
  token: undefined,
  previousExpireMs: undefined,
  revokeMs: undefined,
  etag: '"0"',
};

/** A new token: a prefix by which scanners of secrets know it, and 32 random bytes. */
export function newToken(): string {
  return `pscim_${randomBytes(32).toString("hex")}`;
}

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** The state of a provider. */
export async function readProvisioning(session: ReadSession, provider: string): Promise<StoredProvisioning> {
  const row = await session.get(provisioningTable, provider);
  return row === undefined ? none : stored(row);
}

/** The states of providers, by uid. */
export async function readManyProvisionings(
  session: ReadSession,
  providers: readonly string[],
): Promise<ReadonlyMap<string, StoredProvisioning>> {
  const rows = await session.getMany(provisioningTable, providers);
  return new Map(providers.map((uid) => [uid, rows.has(uid) ? stored(rows.get(uid)!) : none]));
}

function stored({ body, version }: Row): StoredProvisioning {
  return { ...(JSON.parse(Buffer.from(body).toString()) as Provisioning), etag: `"${version}"` };
}

/** The provider whose token this is or was until it expired, and whether provisioning is on; undefined for another. */
export async function findProvider(
  session: ReadSession,
  token: string,
  nowMs: number,
): Promise<{ readonly provider: string; readonly isEnabled: boolean; readonly isExpired: boolean } | undefined> {
  const digest = digestOf(token);
  for (const column of ["token_digest", "previous_digest"]) {
    const row = await session.first(provisioningTable, { where: [{ column, equals: digest }] });
    if (row === undefined) continue;
    const { isEnabled, token: current, previousExpireMs = 0 } = stored(row);
    const untilMs = column === "token_digest" ? (current?.expireMs ?? Number.POSITIVE_INFINITY) : previousExpireMs;
    return current && { provider: row.uid, isEnabled, isExpired: nowMs >= untilMs };
  }
  return undefined;
}

/** What a change sets. */
interface Change extends Provisioning {
  /** A new token; undefined keeps the digests. "" removes them. */
  readonly newToken?: string;
  /** Whether the current token becomes the previous one. */
  readonly keepsPrevious?: boolean;
}

/** Writes the state of a provider. */
export async function writeProvisioning(
  session: WriteSession,
  provider: string,
  { newToken, keepsPrevious = false, ...state }: Change,
  nowMs: number,
): Promise<StoredProvisioning> {
  const row = await session.get(provisioningTable, provider);
  const current = (row?.columns ?? { token_digest: "", previous_digest: "" }) as Record<string, string>;
  const digest = newToken === undefined ? current.token_digest! : newToken === "" ? "" : digestOf(newToken);
  const previous = newToken === undefined ? current.previous_digest! : keepsPrevious ? current.token_digest! : "";
  const content = {
    body: Buffer.from(JSON.stringify(state)),
    columns: { token_digest: digest, previous_digest: previous },
  };
  if (row === undefined)
    return stored(await session.insert(provisioningTable, newRow(provider, parentOf(provider), nowMs, content)));
  return stored(await session.update(provisioningTable, { ...row, ...content, updateTimeUs: nowMs * 1000 }));
}
