/** Records the events of changes by calls, sign-ins and a registry, in the transaction of the change. */

import type { Message, Registry } from "@bufbuild/protobuf";
import type { UnaryRequest } from "@connectrpc/connect";
import { type Author, actorAt, actorOf, authorityOf } from "../auth/index.ts";
import type { Contract } from "../contract/index.ts";
import {
  type ChangedResource,
  createCallEvents,
  type HasSubscriptions,
  readEvents,
  recordEvent,
  traceExtensions,
} from "../delivery/index.ts";
import type { Quotas } from "../quotas.ts";
import { changesOf, environmentOf, hydrated, type RowChange, type View } from "../resource/index.ts";
import type { WriteSession } from "../store/index.ts";
import type { TraceContext } from "../trace-context.ts";
import { rootOf } from "../uid.ts";
import { neededBy } from "./audit-failures.ts";
import type { RecordRegistryEvent } from "./registry-event.ts";

/** Records events. */
export interface EventRecorder {
  /** Records the events of a call that has succeeded. */
  recordCall(
    session: WriteSession,
    call: Pick<UnaryRequest, "method" | "message" | "contextValues"> & { readonly trace: TraceContext | undefined },
    response: Message,
  ): Promise<void>;
  /** Records the events of changes that a token causes and no call does. */
  recordChanges(session: WriteSession, changes: readonly RowChange[], by: Author, nowMs: number): Promise<void>;
  readonly recordRegistryEvent: RecordRegistryEvent;
}

/** What {@link createEventRecorder} needs. */
export interface EventRecorderOptions {
  readonly contract: Contract;
  /** Where clients reach the API. */
  readonly baseUrl: string;
  /** `iss` of the platform's own tokens. */
  readonly issuerUrl: string;
  /** Finds the types of google.protobuf.Any values. */
  readonly registry: Registry;
  readonly hasSubscriptions: HasSubscriptions;
  /** Read for every event. */
  readonly quotas: Quotas;
}

/** Creates the recorder. */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { contract, baseUrl, issuerUrl, registry, hasSubscriptions } = options;
  /** Subscribers may read nothing but the resource. */
  const viewAt = (nowMs: number): View => ({ grants: [], quotas: options.quotas, nowMs });
  const events = createCallEvents({ contract, baseUrl, typeRegistry: registry });

  return {
    async recordCall(session, { method, message, contextValues, trace }, response) {
      const context = { values: contextValues };
      const changes = changesOf(context);
      if (changes.length === 0) return;
      const authority = authorityOf(context);
      const { nowMs } = environmentOf(context);
      const view = viewAt(nowMs);
      const needed = neededBy(contract.of(method).authorization);
      const recorded = await events.ofCall({
        method,
        request: message,
        response,
        changes: changes.map((change) => changedResource(change, session, view)),
        actorAt: (uid) => actorOf({ ...authority.caller, subject: actorAt(authority, uid, needed) }, issuerUrl),
        timeMs: nowMs,
      });
      const ofTrace = traceExtensions(trace);
      for (const event of recorded)
        await recordEvent(session, { ...event, extensions: { ...event.extensions, ...ofTrace } }, hasSubscriptions);
    },

    async recordChanges(session, changes, by, nowMs) {
      const view = viewAt(nowMs);
      const changed = changes.map((change) => changedResource(change, session, view));
      for (const event of await events.ofChanges(changed, () => actorOf(by, issuerUrl), nowMs))
        await recordEvent(session, event, hasSubscriptions);
    },

    async recordRegistryEvent(session, { id, type, source, timeMs, repoUid, attributes, body }) {
      if ((await readEvents(session, [id])).has(id)) return; // the registry repeats itself
      const extensions = { group: rootOf(repoUid), ...attributes };
      const data = JSON.stringify({ body });
      const event = { id, timeMs, type, source, subject: repoUid, extensions, data };
      await recordEvent(session, event, hasSubscriptions);
    },
  };
}

function changedResource({ kind, resource, row }: RowChange, session: WriteSession, view: View): ChangedResource {
  return {
    kind,
    resource: resource.contract,
    holder: resource.declaration.parent?.contract,
    uid: row.uid,
    read: async () => hydrated(resource, row, session, view),
  };
}
