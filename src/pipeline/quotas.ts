/**
 * Quotas: how much an organisation, a root group, can have below it. What calls create is counted outside their
 * transaction, because on PostgreSQL reading the counters within it would make concurrent creates conflict. So a quota
 * may be exceeded by as many as are created at the same time.
 */
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { ConnectError, UnaryRequest } from "@connectrpc/connect";
import { type Awaitable, chain } from "../awaitable.ts";
import type { Contract } from "../contract/index.ts";
import { resourceExhausted } from "../errors.ts";
import type { Quotas } from "../resource/index.ts";
import type { ReadSession, TableSpec } from "../store/index.ts";
import { isUid, rootOf } from "../uid.ts";
import { textOf } from "./audit-failures.ts";

/** The quota of one kind of resource. */
export interface Quota {
  /** Its name in the setting: `repos`. */
  readonly name: string;
  readonly table: TableSpec;
  /** The events of the methods that create such resources. */
  readonly events: readonly string[];
}

/** What {@link quotaCheck} needs. */
export interface QuotaOptions {
  readonly contract: Contract;
  readonly quotas: readonly Quota[];
  /** Read for every call. */
  limits(): Quotas;
  /** Names the setting in errors. */
  readonly setting: string;
  readonly read: ReadSession;
}

/**
 * Returns the error of a call that would create more than its organisation can have; undefined for any other. It is for
 * callers who may create: whoever has not been authorized must not see it.
 */
export type QuotaCheck = (request: UnaryRequest) => Awaitable<ConnectError | undefined>;

/** Creates the check. */
export function quotaCheck({ contract, quotas, limits, setting, read }: QuotaOptions): QuotaCheck {
  const byEvent = new Map(quotas.flatMap((quota) => quota.events.map((event) => [event, quota] as const)));
  return ({ method, message }) => {
    const { authorization, event } = contract.of(method);
    const quota = event && byEvent.get(event.type);
    const limit = quota && limits()[quota.name];
    if (limit === undefined) return undefined;
    const parent = authorization.kind === "scoped" ? authorization.scope.uidOf(message) : textOf(message, "parent");
    if (!isUid(parent)) return undefined;
    const organisation = rootOf(parent);
    const within = [{ root: organisation, self: false }];
    return chain(read.count(quota!.table, { within }), (count) =>
      count + addedBy(method, message) <= limit
        ? undefined
        : resourceExhausted(organisation, `an organisation can have ${limit} ${quota!.name} (${setting})`),
    );
  };
}

/** How many resources a request creates: one, or a batch. */
function addedBy({ input }: DescMethod, message: Message): number {
  const batch = input.fields.find((field) => field.fieldKind === "list" && field.message !== undefined);
  return batch === undefined ? 1 : (message as unknown as Record<string, readonly unknown[]>)[batch.localName]!.length;
}
