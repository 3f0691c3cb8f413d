/**
 * The operator's calls: methods of the contract that run in this process inside one transaction, for imports and for
 * notifications of a registry. They are validated, audited and recorded as events like other calls. They have no token,
 * and the operator has every capability.
 */

import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { createContextValues, type UnaryRequest } from "@connectrpc/connect";
import { authorizeOperator, operatorClaims } from "../auth/index.ts";
import {
  type CallInterceptor,
  createLocalTransport,
  type ServiceImplementation,
  type UnaryCallResponse,
} from "../call/index.ts";
import { provideEnvironment, type RowChange, transactionOf } from "../resource/index.ts";
import type { WriteSession } from "../store/index.ts";
import { recordCall } from "./record-call.ts";
import type { TransactOptions } from "./transact.ts";
import { validate } from "./validate.ts";

/** Calls a method in the transaction under way. Errors: those of the method. */
export type OperatorCall = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
) => Promise<MessageShape<O>>;

/** The operator of a database. */
export interface Operator {
  /**
   * Runs `work` in a transaction. It may run more than once, and must wait for nothing but `call` and its session.
   * Errors: what `work` throws, after a rollback; ConflictError.
   */
  transact<T>(work: (call: OperatorCall, session: WriteSession) => Promise<T>): Promise<T>;
  /** Records the events of changes that the operator makes without a call. */
  recordChanges(session: WriteSession, changes: readonly RowChange[]): Promise<void>;
}

/** What {@link createOperator} needs. */
export interface OperatorOptions
  extends Omit<TransactOptions, "onCommit" | "isSerializable" | "commitsWith" | "lockForCall"> {
  readonly services: readonly ServiceImplementation[];
  /** The caller that audit records and events name. */
  readonly subject: string;
}

/** Creates the operator. */
export function createOperator(options: OperatorOptions): Operator {
  const { services, contract, database, environment, events, now, subject } = options;
  const record = recordCall(options);

  const recorded: CallInterceptor = (next) => async (request) => {
    const response = await next(request);
    if (contract.of(request.method).mutates) {
      const session = transactionOf({ values: request.contextValues });
      await record(session, request as UnaryRequest, response as UnaryCallResponse);
    }
    return response;
  };
  const transport = createLocalTransport(services, [validate, recorded]);

  return {
    recordChanges: (session, changes) =>
      events.recordChanges(session, changes, { subject, claims: operatorClaims(subject) }, now()),
    transact: (work) =>
      database.transact(
        (session) => {
          const nowMs = now();
          return work(async (method, request) => {
            const values = createContextValues();
            authorizeOperator(values, subject);
            provideEnvironment(values, environment, { nowMs, session });
            return (await transport.unary(method, undefined, undefined, undefined, request, values)).message;
          }, session);
        },
        { isSerializable: true, isUnlimited: true },
      ),
  };
}
