import type { UnaryRequest } from "@connectrpc/connect";
import type { Audit } from "../audit/index.ts";
import { timesOf, type UnaryCallResponse } from "../call/index.ts";
import { wholeMessage } from "../codec/index.ts";
import type { Contract } from "../contract/index.ts";
import type { WriteSession } from "../store/index.ts";
import { carriedOutBy } from "../translation/index.ts";
import { recordOf } from "./audit-failures.ts";
import type { EventRecorder } from "./record-events.ts";

/** What {@link recordCall} needs. */
export interface RecordCallOptions {
  readonly contract: Contract;
  readonly audit: Audit;
  readonly events: EventRecorder;
}

/** Records a call that has changed something, in the audit log and as events, in its own transaction. */
export function recordCall({ contract, audit, events }: RecordCallOptions) {
  return async (session: WriteSession, call: UnaryRequest, response: UnaryCallResponse): Promise<void> => {
    const message = wholeMessage(response.message);
    await audit.append(session, recordOf(contract, call, message));
    const {
      method = call.method,
      request = call.message,
      response: answer = message,
    } = carriedOutBy(call.contextValues) ?? {};
    const { contextValues } = call;
    const trace = timesOf(call)?.trace;
    await events.recordCall(session, { method, message: request, contextValues, trace }, answer);
  };
}
