/**
 * Calls of endpoints that are not methods of the contract, such as those of provisioning clients. They have the limits,
 * the deadline, the counts, the log lines and the audit records that other calls have.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { type Audit, type AuditRecord, emptyRecord } from "../audit/index.ts";
import { deadlineExceeded, isRateLimited, reasonOf } from "../errors.ts";
import type { Payer } from "../fairness/index.ts";
import { type Logger, logCall, roundMs } from "../log.ts";
import type { ReadingCall } from "../store/index.ts";
import { isDenial } from "./audit-failures.ts";
import { logFault } from "./hide-bugs.ts";
import type { CallLimit } from "./limit-calls.ts";
import type { RateClass, Rates } from "./limit-rates.ts";
import type { CallCounter } from "./observers/log-calls.ts";
import { callersError } from "./store-errors.ts";

/** What {@link createEndpointCalls} needs. */
export interface EndpointCallsOptions {
  readonly limit: CallLimit;
  readonly rates: Rates;
  readonly audit: Pick<Audit, "report">;
  readonly log: Logger;
  readonly callCounter?: CallCounter | undefined;
  /** How long a call may take before it is logged as slow; 0: none is. Read for every call. */
  readonly slowCallMs: number;
  /** Takes an error that says that the database is unavailable; false for any other. */
  reportOutage?(error: unknown): boolean;
}

/** Who calls. */
export interface EndpointCaller {
  /** A uid. */
  readonly caller: string;
  /** The uid that the call is authorized at. */
  readonly scope: string;
  /** The uid of what a change is about; "" if there is none yet. */
  readonly resource: string;
  /** Why a known caller is denied. */
  readonly denial?: ConnectError | undefined;
}

/** A call of an endpoint. */
export interface EndpointCall {
  /** Its name in the log, the metrics and the audit log: `scim/createUser`. */
  readonly method: string;
  /** Its protocol in the metrics. */
  readonly protocol: string;
  readonly rateClass: RateClass;
  /** Where it comes from. */
  readonly origin: Pick<AuditRecord, "requestId" | "address" | "userAgent">;
  readonly traceId: string | undefined;
  /** Whom it counts against; undefined until its token is known. */
  payer(): Payer | undefined;
  /** How long it may take, in milliseconds; undefined: as long as it needs. Errors: those of its header fields. */
  timeoutMs(): number | undefined;
  /** Finds its caller. Errors: UNAUTHENTICATED. */
  authenticate(): Promise<EndpointCaller>;
  /** Calls `end` when the client disconnects. */
  onGone(end: () => void): void;
}

/** A call under way, as its sessions see it. */
export interface RunningCall extends ReadingCall {
  timeoutMs(): number | undefined;
  throwIfAborted(): void;
  readonly scope: string;
  readonly payer: Payer | undefined;
  /** The audit record of the call if it succeeds. `resource`: the uid of what it has changed. */
  recordOf(resource: string): AuditRecord;
}

/** Carries out calls of endpoints. */
export interface EndpointCalls {
  /** Errors: ConnectError, whatever `work` throws; UNAVAILABLE while there are too many calls. */
  run<T>(call: EndpointCall, work: (running: RunningCall) => Promise<T>): Promise<T>;
}

/** Creates what carries them out. */
export function createEndpointCalls(options: EndpointCallsOptions): EndpointCalls {
  const { limit, rates, audit, log, callCounter } = options;

  function fail(call: EndpointCall, reason: unknown, who: EndpointCaller | undefined): ConnectError {
    const error = callersError(reason);
    options.reportOutage?.(reason);
    logFault(log, reason, error, call.method, call.origin.requestId);
    if (isDenial(error.code) || (call.rateClass === "write" && !isRateLimited(error)))
      audit.report(recordOf(call, who, who?.resource ?? "", reasonOf(error.code)));
    return error;
  }

  return {
    async run(call, work) {
      limit.admit(() => call.payer()?.account);
      callCounter?.begin();
      const beganMs = performance.now();
      const ending = new Ending();
      let who: EndpointCaller | undefined;
      let code: Code | undefined;
      const carryOut = async () => {
        const known = await call.authenticate();
        who = known;
        rates.take(call.rateClass, known.caller);
        if (known.denial !== undefined) throw known.denial;
        const payer = call.payer();
        return work({
          caller: known.caller,
          account: payer?.account,
          payer,
          pause: () => payer?.pause(),
          scope: known.scope,
          signal: ending.signal,
          timeoutMs: () => ending.leftMs(),
          throwIfAborted: () => ending.signal.throwIfAborted(),
          recordOf: (resource) => recordOf(call, known, resource, "OK"),
        });
      };
      try {
        ending.begin(call.timeoutMs());
        call.onGone(() => ending.end(new ConnectError("the client has gone", Code.Canceled)));
        return await ending.orResult(limit.during(carryOut(), call.payer()?.account));
      } catch (reason) {
        const error = fail(call, reason, who);
        ({ code } = error);
        throw error;
      } finally {
        ending.end(ended);
        const ms = performance.now() - beganMs;
        callCounter?.end(call.method, call.protocol, code ?? 0, ms);
        const line = {
          method: call.method,
          code: code === undefined ? "OK" : reasonOf(code),
          ms,
          caller: who?.caller,
          requestId: call.origin.requestId,
          traceId: call.traceId,
        };
        logCall(log, line);
        const { slowCallMs } = options;
        if (slowCallMs > 0 && ms >= slowCallMs) log.warn({ ...line, ms: roundMs(ms), scope: who?.scope }, "slow call");
      }
    },
  };
}

const ended = new ConnectError("the call has ended", Code.Canceled);

/** The end of a call: by its deadline, its client, or itself. */
class Ending {
  readonly #controller = new AbortController();
  readonly #stopped = Promise.withResolvers<never>();
  #deadlineMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    this.#stopped.promise.catch(() => {}); // nobody may be waiting
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  begin(timeoutMs: number | undefined): void {
    if (timeoutMs === undefined) return;
    this.#deadlineMs = performance.now() + timeoutMs;
    const stop = () => this.end(deadlineExceeded("the call took longer than its time-out"));
    if (timeoutMs <= 0) stop();
    else this.#timer = setTimeout(stop, timeoutMs);
  }

  leftMs(): number | undefined {
    return this.#deadlineMs && Math.ceil(this.#deadlineMs - performance.now());
  }

  /** The result of the work, unless the call ends before. */
  orResult<T>(work: Promise<T>): Promise<T> {
    return Promise.race([this.#stopped.promise, work]);
  }

  end(reason: ConnectError): void {
    clearTimeout(this.#timer);
    this.#controller.abort(reason);
    this.#stopped.reject(reason);
  }
}

function recordOf(call: EndpointCall, who: EndpointCaller | undefined, resource: string, code: string): AuditRecord {
  return {
    ...emptyRecord,
    ...call.origin,
    caller: who?.caller ?? "",
    method: call.method,
    scope: who?.scope ?? "",
    resource,
    code,
    count: 1,
  };
}
