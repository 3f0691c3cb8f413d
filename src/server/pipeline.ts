/** The whole policy of the server, as one list of layers, outermost first. */
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type UnaryRequest, type UnaryResponse } from "@connectrpc/connect";
import { type Authenticator, authentication, authorization, type GrantSource, knownCallerOf } from "../auth/index.ts";
import { type Contract, nulViolations, violationsOf } from "../contract/index.ts";
import { alreadyExists, atEdge, invalid, reasonOf } from "../errors.ts";
import { type Eventually, settle } from "../eventually.ts";
import { type CallRequest, type CallResponse, type Layer, onError } from "../layer.ts";
import { type Logger, logCall, logRefusedToken } from "../log.ts";
import { type CallEnvironment, provideEnvironment } from "../resource/index.ts";
import { type Database, NotUniqueError, UnavailableError, type WriteSession } from "../store/index.ts";
import { type Audit, auditFailures, recordOf } from "./audit.ts";
import type { EventRecorder } from "./events.ts";
import { keyedCall } from "./idempotency.ts";
import { LocalCall } from "./local-call.ts";
import { callersError } from "./store-errors.ts";

/** What the pipeline is made of. */
export interface PipelineOptions {
  readonly contract: Contract;
  readonly log: Logger;
  /** Host part of error domains and resource types. */
  readonly serviceHost: string;
  readonly authenticator: Authenticator;
  readonly grants: GrantSource;
  readonly database: Database;
  readonly environment: Omit<CallEnvironment, "session" | "nowMs" | "changes">;
  readonly audit: Audit;
  readonly events: EventRecorder;
  /** Takes an error of the database's that keeps calls from being answered; false when it is another. */
  reportOutage?(error: unknown): boolean;
  /** Told when a call has changed something for good. */
  onCommit?(): void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The layers, outermost first. */
export interface Pipeline {
  /** Around the deadline: they see how a call ends, whatever its handler still does. */
  readonly observers: readonly Layer[];
  /** `authorize` precedes `validate`, so that a stranger learns nothing from what is wrong with a request (AIP-211). */
  readonly layers: readonly Layer[];
}

/** Creates the pipeline. */
export function createPipeline(options: PipelineOptions): Pipeline {
  const { contract, authenticator, grants, audit } = options;
  return {
    observers: [logCalls(options), auditFailures(contract, audit), hideBugs(options)],
    layers: [
      authentication(contract, (header) => authenticator.authenticate(header)),
      authorization(contract, grants),
      validate,
      transact(options),
    ],
  };
}

/** One line for every call: what, for whom, how it ended, how long it took. */
function logCalls({ log }: PipelineOptions): Layer {
  const write = (request: CallRequest, startMs: number, code: string) =>
    logCall(log, {
      method: nameOf(request),
      code,
      ms: performance.now() - startMs,
      caller: knownCallerOf(request.contextValues)?.subject,
      requestId: request.header.get("x-request-id"),
    });
  return (next) => (request) => {
    const startMs = performance.now();
    return settle(
      () => next(request),
      (response) => {
        write(request, startMs, "OK");
        return response;
      },
      (error) => {
        write(request, startMs, error instanceof ConnectError ? reasonOf(error.code) : "INTERNAL");
        throw error;
      },
    );
  };
}

function nameOf({ method }: CallRequest): string {
  return `${method.parent.typeName}/${method.name}`;
}

/** Whatever is no error for callers, and no failure of the database, is a bug: logged with its cause, answered with a fixed text. */
function hideBugs({ contract, log, serviceHost, reportOutage }: PipelineOptions): Layer {
  return onError((error, request) => {
    const { domain } = contract.of(request.method);
    const requestId = request.header.get("x-request-id");
    if (error instanceof ConnectError) {
      if (error.code === Code.Unauthenticated && error.cause !== undefined)
        logRefusedToken(log, nameOf(request), error.cause, requestId);
      throw atEdge(error, serviceHost, domain);
    }
    const described = callersError(error);
    reportOutage?.(error);
    if (described.code === Code.Internal) log.error({ err: error, method: request.method.name, requestId }, "bug");
    throw atEdge(described, serviceHost, domain);
  });
}

/** The value rules of the request. Those of a resource in it are checked on the merged resource, by the resource layer. */
export const validate: Layer = (next) => (request) => {
  if (request.stream) throw new Error("methods of the contract do not stream");
  const { input } = request.method;
  const violations = [...violationsOf(input, request.message), ...nulViolations(input, request.message)];
  if (violations.length > 0) throw invalid(violations);
  return next(request);
};

/** A call that only checks: its transaction is rolled back when everything is done. */
class ValidatedOnly extends Error {
  readonly response: UnaryResponse;
  constructor(response: UnaryResponse) {
    super("validate_only");
    this.response = response;
  }
}

/** Gives each call its database: for a mutating method a transaction, run again when it conflicts with another. */
function transact(options: PipelineOptions): Layer {
  const { contract, database, environment, now } = options;
  const record = recordIn(options);
  const change = async (request: UnaryRequest, next: () => Eventually<CallResponse>, nowMs: number) => {
    const keyed = keyedCall(request, contract.of(request.method), environment.secrets, nowMs);
    try {
      const answer = await database.transact(
        async (session) => {
          provideEnvironment(request.contextValues, { ...environment, nowMs, session });
          const replayed = await keyed?.replay(session);
          const response = replayed ?? ((await next()) as UnaryResponse);
          if ((request.message as Message & { validateOnly?: boolean }).validateOnly) throw new ValidatedOnly(response);
          if (replayed === undefined) await keyed?.remember(session, response);
          await record(session, request, response);
          return response;
        },
        { signal: request instanceof LocalCall ? request : request.signal }, // no signal need be made
      );
      options.onCommit?.();
      return answer;
    } catch (error) {
      if (error instanceof ValidatedOnly) return error.response;
      if (error instanceof UnavailableError && error.isUndecided && keyed !== undefined)
        throw new UnavailableError(error.message, error.cause); // with its key it can be repeated safely
      if (error instanceof NotUniqueError) throw alreadyExists({ type: error.table, uid: "" }, "this name");
      throw error;
    }
  };
  return (next) => (request) => {
    const nowMs = now();
    if (contract.of(request.method).mutates) return change(request as UnaryRequest, () => next(request), nowMs);
    provideEnvironment(request.contextValues, { ...environment, nowMs, session: database.read });
    return next(request);
  };
}

/** What is recorded of a call that has changed something, in its own transaction. */
export function recordIn({ contract, audit, events }: Pick<PipelineOptions, "contract" | "audit" | "events">) {
  return async (session: WriteSession, call: UnaryRequest, response: UnaryResponse): Promise<void> => {
    await audit.append(session, recordOf(contract, call, response.message));
    await events.recordCall(session, call, response.message);
  };
}
