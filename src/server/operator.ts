/**
 * Calls of the operator's own: methods of the contract, run in this process inside one transaction, for importers and for what another system
 * reports. They are validated, audited and emit events as every call does; there is no token, and the operator holds every capability.
 */
import {
  createRegistry,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { createContextValues, type UnaryRequest, type UnaryResponse } from "@connectrpc/connect";
import { authorizeOperator } from "../auth/index.ts";
import { baseUrlOf, type Config } from "../config.ts";
import { readContract } from "../contract/index.ts";
import type { Layer } from "../layer.ts";
import { provideEnvironment, transactionOf } from "../resource/index.ts";
import { createServices, hasSubscriptions } from "../services/index.ts";
import type { Database, WriteSession } from "../store/index.ts";
import { createAudit } from "./audit.ts";
import { createEventRecorder } from "./events.ts";
import { readEnvironment, readInstallation } from "./installation.ts";
import { createLocalTransport, type ServiceImplementation } from "./local-transport.ts";
import { type PipelineOptions, recordIn, validate } from "./pipeline.ts";

/** Calls a method in the transaction under way. Errors: those of the method, as it throws them. */
export type OperatorCall = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
) => Promise<MessageShape<O>>;

/** The operator of a database. */
export interface Operator {
  /**
   * Runs `work` in a transaction. It may run more than once and waits for nothing but `call` and its session.
   * Errors: what `work` throws, then nothing stays; ConflictError.
   */
  transact<T>(work: (call: OperatorCall, session: WriteSession) => Promise<T>): Promise<T>;
}

/** What {@link createOperator} needs. */
export interface OperatorOptions
  extends Pick<PipelineOptions, "contract" | "database" | "environment" | "audit" | "events" | "now"> {
  readonly services: readonly ServiceImplementation[];
  /** Whom audit and events name as the caller. */
  readonly subject: string;
}

/**
 * The operator of a command, on an initialised database. What it does is in the audit log as done by `subject`.
 * Errors: a plain Error when the database is not initialised.
 */
export async function openOperator(database: Database, config: Config, subject: string): Promise<Operator> {
  const installation = await readInstallation(database.read);
  if (installation === undefined) throw new Error("the database is not initialised");
  const services = createServices(config);
  const contract = readContract(services.map(({ service }) => service));
  const environment = await readEnvironment(database, installation, config);
  const events = createEventRecorder({
    contract,
    baseUrl: baseUrlOf(config),
    issuerUrl: installation.issuerUrl,
    registry: createRegistry(...services.map(({ service }) => service.file)),
    hasSubscriptions,
  });
  const audit = createAudit({
    database,
    now: Date.now,
    onLoss(_count, error) {
      throw error;
    },
  });
  return createOperator({ services, contract, database, environment, audit, events, now: Date.now, subject });
}

/** Creates the operator. */
export function createOperator(options: OperatorOptions): Operator {
  const { services, contract, database, environment, now, subject } = options;
  const record = recordIn(options);

  const recorded: Layer = (next) => async (request) => {
    const response = await next(request);
    if (contract.of(request.method).mutates) {
      const session = transactionOf({ values: request.contextValues });
      await record(session, request as UnaryRequest, response as UnaryResponse);
    }
    return response;
  };
  const transport = createLocalTransport(services, [validate, recorded]);

  return {
    transact: (work) =>
      database.transact((session) => {
        const nowMs = now();
        return work(async (method, request) => {
          const values = createContextValues();
          authorizeOperator(values, subject);
          provideEnvironment(values, { ...environment, nowMs, session });
          return (await transport.unary(method, undefined, undefined, undefined, request, values)).message;
        }, session);
      }),
  };
}
