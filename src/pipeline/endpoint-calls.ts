/**
 * The request loop of endpoints that belong to no service: of tokens, of provisioning clients, of a registry. Their
 * calls have the limits, the deadline, the counts, the log lines and the audit records that calls of methods have.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { type Audit, type AuditRecord, emptyRecord } from "../audit/index.ts";
import type { Awaitable } from "../awaitable.ts";
import { deadlineExceeded, isRateLimited, reasonOf } from "../errors.ts";
import type { Payer } from "../fairness/index.ts";
import { type Origin, originOf } from "../http/index.ts";
import { type Logger, logCall, logRefusedToken, roundMs } from "../log.ts";
import {
  type Answer,
  breakOff,
  onGone,
  type PortRequest,
  type PortResponse,
  Refusal,
  readDeadline,
  send,
} from "../message/index.ts";
import type { ReadingCall, WriteSession } from "../store/index.ts";
import { traceIdOf } from "../trace-context.ts";
import { isDenial } from "./audit-failures.ts";
import { logFault } from "./hide-bugs.ts";
import type { CallLimit } from "./limit-calls.ts";
import type { RateClass, Rates } from "./limit-rates.ts";
import type { CallCounter } from "./observers/log-calls.ts";
import { callersError } from "./store-errors.ts";

/** What {@link EndpointCalls} needs. */
export interface EndpointCallsOptions {
  readonly limit: CallLimit;
  readonly rates: Rates;
  readonly audit: Pick<Audit, "append" | "report">;
  readonly log: Logger;
  readonly callCounter?: CallCounter | undefined;
  /** How long a call may take before it is logged as slow; 0: none is. Read for every call. */
  readonly slowCallMs: number;
  /** Takes an error that says that the database is unavailable; false for any other. */
  reportOutage?(error: unknown): boolean;
  /** Answers an error as a google.rpc.Status. `httpStatus`: where it does not follow from the code. */
  writeError(response: PortResponse, error: ConnectError, httpStatus: number | undefined): Awaitable<void>;
}

/** Who calls. */
export interface EndpointCaller {
  /** A uid. */
  readonly caller: string;
  /** The issuer of the caller's token. */
  readonly issuer?: string;
  /** What the caller's audit records count against; by default nothing does. */
  readonly key?: string | undefined;
  /** The uid that the call is authorized at. */
  readonly scope: string;
  /** The uid of what a change is about, if there is one yet. */
  readonly resource?: string;
  /** Why a known caller is denied. */
  readonly denial?: Error | undefined;
}

/** What an endpoint does for a request. */
export interface EndpointCall {
  /** The name in the log, the metrics and the audit log: `scim/createUser`. Before the slash is the protocol. */
  readonly method: string;
  /** What the call does, for the limits of its caller; absent: they do not count it. */
  readonly rateClass?: RateClass;
  /** Whom it counts against; undefined until its token is known. */
  payer?(request: PortRequest): Payer | undefined;
  /** Errors: Refusal, ConnectError, those of the database. Any other is a bug. */
  work(running: RunningCall): Promise<Answer>;
  /** The answer to a failure in a form of the endpoint's own; absent or undefined: a google.rpc.Status. */
  refuse?(error: ConnectError, reason: unknown): Answer | undefined;
}

/** Carries out the calls of endpoints. */
export class EndpointCalls {
  readonly #options: EndpointCallsOptions;

  constructor(options: EndpointCallsOptions) {
    this.#options = options;
  }

  /** Answers a request. */
  serve(request: PortRequest, response: PortResponse, call: EndpointCall): void {
    this.#carryOut(new RunningCall(request, response, call, this.#options))
      .then(
        (answer) => send(response, answer),
        (reason) => this.#refuse(response, reason, call.refuse?.(errorOf(reason), reason)),
      )
      .catch(() => breakOff(response));
  }

  /** Answers a failure at a path whose calls are not logged. */
  fail(reason: unknown, response: PortResponse): void {
    this.#noteFault(reason, response.req.url ?? "", String(response.getHeader("x-request-id") ?? ""));
    void this.#refuse(response, reason, undefined);
  }

  /** Errors: what the work of the call throws; UNAVAILABLE while there are too many calls. */
  async #carryOut(running: RunningCall): Promise<Answer> {
    const { limit, callCounter } = this.#options;
    limit.admit(({ account }) => account, running);
    callCounter?.begin();
    const beganMs = performance.now();
    let code: Code | undefined;
    try {
      return await running.orEnd((work) => limit.during(work, running.account));
    } catch (reason) {
      ({ code } = this.#noteFailure(running, reason));
      throw reason;
    } finally {
      running.end(ended);
      this.#logEnd(running, code, performance.now() - beganMs);
    }
  }

  #noteFailure(running: RunningCall, reason: unknown): ConnectError {
    const { call, origin, known } = running;
    const error = this.#noteFault(reason, call.method, origin.requestId);
    if (isDenial(error.code) && error.cause !== undefined)
      logRefusedToken(this.#options.log, call.method, error.cause, origin.requestId);
    if (isDenial(error.code) || (call.rateClass === "write" && !isRateLimited(error)))
      running.report(known?.resource, reasonOf(error.code));
    return error;
  }

  /** Tells the operator of an outage or a bug. Returns the error for the caller. */
  #noteFault(reason: unknown, method: string, requestId: string): ConnectError {
    const error = errorOf(reason);
    this.#options.reportOutage?.(reason);
    logFault(this.#options.log, reason, error, method, requestId);
    return error;
  }

  #logEnd({ call: { method }, known, origin, traceId, count }: RunningCall, code: Code | undefined, ms: number): void {
    const { callCounter, log, slowCallMs } = this.#options;
    callCounter?.end(method, method.slice(0, method.indexOf("/")), code ?? 0, ms);
    const { requestId } = origin;
    const name = code === undefined ? "OK" : reasonOf(code);
    const line = { method, code: name, ms, caller: known?.caller, requestId, traceId, count };
    logCall(log, line);
    if (slowCallMs > 0 && ms >= slowCallMs) log.warn({ ...line, ms: roundMs(ms), scope: known?.scope }, "slow call");
  }

  #refuse(response: PortResponse, reason: unknown, answer: Answer | undefined): Awaitable<void> {
    if (answer !== undefined) return send(response, answer);
    const httpStatus = reason instanceof Refusal ? reason.httpStatus : undefined;
    return this.#options.writeError(response, errorOf(reason), httpStatus);
  }
}

function errorOf(reason: unknown): ConnectError {
  return reason instanceof Refusal ? reason.error : callersError(reason);
}

const ended = new ConnectError("the call has ended", Code.Canceled);

/** A call under way, as its work and its sessions see it. It ends by its deadline, its client, or itself. */
export class RunningCall implements ReadingCall {
  readonly request: PortRequest;
  readonly response: PortResponse;
  readonly call: EndpointCall;
  readonly origin: Origin;
  readonly traceId: string | undefined;
  /** How many items it is about, for the log. */
  count: number | undefined;
  readonly #options: Pick<EndpointCallsOptions, "rates" | "audit">;
  readonly #controller = new AbortController();
  #known: EndpointCaller | undefined;
  #payer: Payer | undefined;
  #deadlineMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    request: PortRequest,
    response: PortResponse,
    call: EndpointCall,
    options: Pick<EndpointCallsOptions, "rates" | "audit">,
  ) {
    this.request = request;
    this.response = response;
    this.call = call;
    this.origin = originOf(request, response);
    this.traceId = traceIdOf(request.headers);
    this.#options = options;
  }

  /** Its caller, once it is known. */
  get known(): EndpointCaller | undefined {
    return this.#known;
  }

  get caller(): string {
    return this.#known?.caller ?? "";
  }

  get scope(): string {
    return this.#known?.scope ?? "";
  }

  get payer(): Payer | undefined {
    this.#payer ??= this.call.payer?.(this.request);
    return this.#payer;
  }

  get account(): string | undefined {
    return this.payer?.account;
  }

  pause(): Promise<void> | undefined {
    return this.payer?.pause();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  throwIfAborted(): void {
    this.signal.throwIfAborted();
  }

  timeoutMs(): number | undefined {
    return this.#deadlineMs && Math.ceil(this.#deadlineMs - performance.now());
  }

  /** Notes who calls. Errors: RESOURCE_EXHAUSTED when the caller has made too many calls; its denial. */
  identify(known: EndpointCaller): void {
    this.#known = known;
    const { rateClass } = this.call;
    if (rateClass !== undefined) this.#options.rates.take(rateClass, known.caller);
    if (known.denial !== undefined) throw known.denial;
  }

  /** Records the call in the transaction of its change. `resource`: the uid of what it has changed. */
  record(session: WriteSession, resource: string): Promise<void> {
    return this.#options.audit.append(session, this.#recordOf(resource, "OK"));
  }

  /** Records the call in no transaction. */
  report(resource = "", code = "OK"): void {
    this.#options.audit.report(this.#recordOf(resource, code), this.#known?.key);
  }

  #recordOf(resource: string, code: string): AuditRecord {
    const { caller = "", issuer = "", scope = "" } = this.#known ?? {};
    return {
      ...emptyRecord,
      ...this.origin,
      caller,
      issuer,
      method: this.call.method,
      scope,
      resource,
      code,
      count: 1,
    };
  }

  /** The answer of the work, unless the call ends before. Errors: also those of the header of the deadline. */
  orEnd(count: (work: Promise<Answer>) => Promise<Answer>): Promise<Answer> {
    const timeoutMs = readDeadline(this.request)?.leftMs();
    if (timeoutMs !== undefined) {
      this.#deadlineMs = performance.now() + timeoutMs;
      const stop = () => this.end(deadlineExceeded("the call took longer than its time-out"));
      if (timeoutMs <= 0) stop();
      else this.#timer = setTimeout(stop, timeoutMs);
    }
    onGone(this.response, () => this.end(new ConnectError("the client has gone", Code.Canceled)));
    this.throwIfAborted();
    return new Promise((resolve, reject) => {
      this.signal.addEventListener("abort", () => reject(this.signal.reason));
      count(this.call.work(this)).then(resolve, reject);
    });
  }

  end(reason: ConnectError): void {
    clearTimeout(this.#timer);
    this.#controller.abort(reason);
  }
}
