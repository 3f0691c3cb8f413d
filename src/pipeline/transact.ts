/** The database session of each call. */
import type { Message } from "@bufbuild/protobuf";
import type { UnaryRequest } from "@connectrpc/connect";
import { knownCallerOf } from "../auth/index.ts";
import type { Awaitable } from "../awaitable.ts";
import {
  type CallFn,
  type CallInterceptor,
  type CallRequest,
  type CallTimes,
  LocalCall,
  timesOf,
  type UnaryCallResponse,
} from "../call/index.ts";
import type { MethodContract } from "../contract/index.ts";
import { alreadyExists } from "../errors.ts";
import { environmentOf, provideEnvironment, type ServerEnvironment } from "../resource/index.ts";
import {
  type Database,
  NotUniqueError,
  type ReadingCall,
  UnavailableError,
  type WriteSession,
} from "../store/index.ts";
import { keyedCall } from "./idempotency.ts";
import { type RecordCallOptions, recordCall } from "./record-call.ts";

/** What {@link transact} needs. */
export interface TransactOptions extends RecordCallOptions {
  readonly database: Database;
  readonly environment: ServerEnvironment;
  /** Whether a call runs in a serializable transaction. */
  isSerializable(method: MethodContract): boolean;
  /** The organisation whose creating calls a call may be committed with. */
  commitsWith(method: MethodContract, request: Message): string | undefined;
  /** Locks what a call relies on, before its handler runs. */
  lockForCall(session: WriteSession, method: MethodContract, request: Message): Awaitable<void>;
  /** Called when a call has committed its changes. */
  onCommit?(): void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Rolls back the transaction of a call with `validate_only` that has succeeded. */
class ValidatedOnly extends Error {
  readonly response: UnaryCallResponse;
  constructor(response: UnaryCallResponse) {
    super("validate_only");
    this.response = response;
  }
}

/** A call that reads. Its signal is created when it is read. */
class Reads implements ReadingCall {
  readonly #request: CallRequest;

  constructor(request: CallRequest) {
    this.#request = request;
  }

  get caller(): string {
    return knownCallerOf(this.#request.contextValues)?.key ?? "";
  }

  get account(): string | undefined {
    return knownCallerOf(this.#request.contextValues)?.payer?.account;
  }

  pause(): Promise<void> | undefined {
    return knownCallerOf(this.#request.contextValues)?.payer?.pause();
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get statements(): CallTimes | undefined {
    return timesOf(this.#request);
  }

  timeoutMs(): number | undefined {
    return endOf(this.#request).timeoutMs();
  }
}

/** How a call ends. A LocalCall creates its signal when it is read. */
function endOf(request: CallRequest): Pick<LocalCall, "throwIfAborted" | "signal" | "timeoutMs" | "statements"> {
  if (request instanceof LocalCall) return request;
  const { signal } = request;
  const statements = timesOf(request);
  return { signal, throwIfAborted: () => signal.throwIfAborted(), timeoutMs: () => undefined, statements };
}

/**
 * Gives a mutating method a transaction, which runs again when it conflicts with another, and any other method a read
 * session.
 */
export function transact(options: TransactOptions): CallInterceptor {
  const { contract, database, environment, now } = options;
  const record = recordCall(options);
  const change = async (request: UnaryRequest, next: CallFn, method: MethodContract) => {
    const nowMs = now();
    const times = timesOf(request);
    const keyed = keyedCall(request, method, environment.secrets, nowMs);
    try {
      const answer = await database.transact(
        async (session) => {
          if (times?.begunMs === 0) times.begunMs = performance.now();
          provideEnvironment(request.contextValues, environment, { nowMs, session });
          await options.lockForCall(session, method, request.message);
          const replayed = await keyed?.replay(session);
          const response = replayed ?? ((await next(request)) as UnaryCallResponse);
          await session.checkLimits();
          if ((request.message as Message & { validateOnly?: boolean }).validateOnly) throw new ValidatedOnly(response);
          if (replayed === undefined) await keyed?.store(session, response);
          await record(session, request, response);
          if (times !== undefined) times.workedMs = performance.now();
          return response;
        },
        {
          call: endOf(request),
          payer: knownCallerOf(request.contextValues)?.payer,
          isSerializable: options.isSerializable(method),
          commitsWith: options.commitsWith(method, request.message),
        },
      );
      options.onCommit?.();
      return answer;
    } catch (error) {
      if (error instanceof ValidatedOnly) {
        await environmentOf({ values: request.contextValues }).onValidated?.(database.readFor(new Reads(request)));
        return error.response;
      }
      if (error instanceof UnavailableError && error.isUndecided && keyed !== undefined)
        throw new UnavailableError(error.message, error.cause); // with its key, the call can be repeated safely
      if (error instanceof NotUniqueError) throw alreadyExists({ type: error.table, uid: "" }, "this name");
      throw error;
    }
  };
  return (next, method) => {
    const rules = contract.of(method);
    if (rules.mutates) return (request) => change(request as UnaryRequest, next, rules);
    return (request) => {
      const session = database.readFor(new Reads(request));
      provideEnvironment(request.contextValues, environment, { nowMs: timesOf(request)?.nowMs ?? now(), session });
      return next(request);
    };
  };
}
