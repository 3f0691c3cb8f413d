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

/** What {@link createQuotas} needs. */
export interface QuotaOptions {
  readonly quotas: readonly Quota[];
  /** Read for every call. */
  limits(): Quotas;
  /** Names the setting in errors. */
  readonly setting: string;
  readonly read: ReadSession;
}

/** The quotas of organisations. */
export interface OrganisationQuotas {
  /**
   * The error of adding so many resources of the kind with this name to an organisation; undefined if it may have them.
   */
  excess(name: string, organisation: string, added: number): Awaitable<ConnectError | undefined>;
}

/** Creates the quotas. */
export function createQuotas({ quotas, limits, setting, read }: QuotaOptions): OrganisationQuotas {
  const tables = new Map(quotas.map(({ name, table }) => [name, table]));
  return {
    excess(name, organisation, added) {
      const limit = limits()[name];
      if (limit === undefined || added <= 0) return undefined;
      const within = [{ root: organisation, self: false }];
      return chain(read.count(tables.get(name)!, { within }), (count) =>
        count + added <= limit
          ? undefined
          : resourceExhausted(organisation, `an organisation can have ${limit} ${name} (${setting})`),
      );
    },
  };
}

/**
 * Returns the error of a call that would create more than its organisation can have; undefined for any other. It is for
 * callers who may create: whoever has not been authorized must not see it.
 */
export type QuotaCheck = (request: UnaryRequest) => Awaitable<ConnectError | undefined>;

/** Creates the check. */
export function quotaCheck(contract: Contract, kinds: readonly Quota[], quotas: OrganisationQuotas): QuotaCheck {
  const byEvent = new Map(kinds.flatMap(({ name, events }) => events.map((event) => [event, name] as const)));
  return ({ method, message }) => {
    const { authorization, event } = contract.of(method);
    const name = event && byEvent.get(event.type);
    if (name === undefined) return undefined;
    const parent = authorization.kind === "scoped" ? authorization.scope.uidOf(message) : textOf(message, "parent");
    return isUid(parent) ? quotas.excess(name, rootOf(parent), addedBy(method, message)) : undefined;
  };
}

/** How many resources a request creates: one, or a batch. */
function addedBy({ input }: DescMethod, message: Message): number {
  const batch = input.fields.find((field) => field.fieldKind === "list" && field.message !== undefined);
  return batch === undefined ? 1 : (message as unknown as Record<string, readonly unknown[]>)[batch.localName]!.length;
}
