/**
 * The bodies of requests while they are received. Without a verified token a sender may send 16 KiB. A longer or
 * compressed body is read only after the token has been verified. The bytes that are held are counted, for each
 * connection and in total. Half of the total is reserved for verified senders: while the other half is full, every
 * sender is verified before any of its body is read.
 */

import { type Awaitable, chain } from "../awaitable.ts";
import { flagOf } from "../config/index.ts";
import { resourceExhausted, unavailable } from "../errors.ts";
import {
  type BodyWatch,
  declaredLength,
  formatLimit,
  type HttpRequest,
  type HttpResponse,
  headerOf,
} from "../message/index.ts";

/**
 * How much is read of a body whose sender is not verified, in bytes. It is also the limit of requests that need no
 * token: those of open methods, health and reflection among them, and of the token exchange.
 */
export const unverifiedBytes = 16 * 1024;

/** The delay before a retry that errors recommend. */
const retryAfterMs = 1000;

/** What a request calls. Only {@link SenderCheck} knows more of it. */
export type Operation = object;

/** The sender of a body: the caller of an operation, anybody, or a sender that was verified by other means. */
export type BodySender = Operation | "anybody" | "verified";

/** Verifies the senders of requests. */
export interface SenderCheck {
  /** Errors: UNAUTHENTICATED. */
  verify(request: HttpRequest, response: HttpResponse, operation: Operation): Awaitable<unknown>;
  /** Whether the bearer token is known to be valid; false if that is not known. */
  isVerified(authorization: string | undefined): boolean;
}

/** The bytes that are held of the bodies of one connection. */
export interface BodyAccount {
  bytes: number;
}

/** The bodies that one server receives. */
export class IncomingBodies {
  readonly #maxBytes: number;
  readonly #maxConnectionBytes: number;
  readonly #accounts = new WeakMap<object, BodyAccount>();
  readonly #watches = new WeakMap<HttpRequest, IncomingBody>();
  #bytes = 0;
  #unverified = 0;
  /** Until it is set, no token is known to be valid. */
  check: SenderCheck = { verify: () => undefined, isVerified: () => false };
  /** Resolves when it is the turn of those with this `Authorization`. Absent: it is always. */
  turn?: (authorization: string | undefined) => Awaitable<void>;

  /**
   * @param maxBytes the maximum number of bytes that are held.
   * @param maxConnectionBytes the maximum for one connection.
   */
  constructor(maxBytes: number, maxConnectionBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxConnectionBytes = maxConnectionBytes;
  }

  /** The account of a connection, which any object may stand for. */
  accountOf(connection: object): BodyAccount {
    const account = this.#accounts.get(connection) ?? { bytes: 0 };
    this.share(connection, account);
    return account;
  }

  /** Lets one more object stand for the connection of an account. */
  share(connection: object, account: BodyAccount): void {
    this.#accounts.set(connection, account);
  }

  /** Whether so many more bytes of unverified senders may be held. */
  hasRoomForUnverified(account: BodyAccount, bytes: number): boolean {
    return this.#unverified + bytes <= this.#maxBytes / 2 && this.#refusal(account, bytes) === undefined;
  }

  /** Counts bytes. Errors: RESOURCE_EXHAUSTED above the limit of the connection, UNAVAILABLE above the total. */
  hold(account: BodyAccount, bytes: number, isVerified: boolean): void {
    const refusal = this.#refusal(account, bytes);
    if (refusal !== undefined) throw refusal();
    this.release(account, -bytes, isVerified);
  }

  /** Counts bytes that are no longer held. */
  release(account: BodyAccount, bytes: number, isVerified: boolean): void {
    account.bytes -= bytes;
    this.#bytes -= bytes;
    if (!isVerified) this.#unverified -= bytes;
  }

  /** Counts the bytes of a sender as verified. */
  verified(bytes: number): void {
    this.#unverified -= bytes;
  }

  #refusal(account: BodyAccount, bytes: number): (() => Error) | undefined {
    if (account.bytes + bytes > this.#maxConnectionBytes) return () => this.#tooMuchOfOne();
    return this.#bytes + bytes > this.#maxBytes ? () => this.tooMuch() : undefined;
  }

  #tooMuchOfOne(): Error {
    const limit = formatLimit(this.#maxConnectionBytes, flagOf("maxPendingBodyBytes"));
    const text = `the request bodies under way on this connection are larger than ${limit}`;
    return resourceExhausted("request bodies of a connection", text, retryAfterMs);
  }

  /** The error above the total. */
  tooMuch(): Error {
    const limit = formatLimit(this.#maxBytes, flagOf("maxPendingBodyBytes"));
    return unavailable(`the request bodies under way on this server reach the limit of ${limit}`, retryAfterMs);
  }

  /**
   * The watch of a request's body, the same each time. Undefined for a buffered body that needs no verification.
   * @param isPassedOn whether the pieces are passed on as they come, so that only the latest is held.
   */
  watch(
    request: HttpRequest,
    response: HttpResponse,
    sender: BodySender,
    isPassedOn = false,
  ): IncomingBody | undefined {
    if ("bufferedBody" in request && !mustVerifyFirst(request)) return undefined;
    let watch = this.#watches.get(request);
    if (watch === undefined) {
      watch = new IncomingBody(this, request, response, sender, isPassedOn);
      this.#watches.set(request, watch);
    }
    return watch;
  }
}

/** The body of one request. */
export class IncomingBody implements BodyWatch {
  readonly #bodies: IncomingBodies;
  readonly #request: HttpRequest;
  readonly #response: HttpResponse;
  readonly #sender: BodySender;
  readonly #account: BodyAccount;
  readonly #isPassedOn: boolean;
  #heldBytes = 0;
  #takenBytes = 0;
  #isVerified: boolean;
  #isOver = false;

  constructor(
    bodies: IncomingBodies,
    request: HttpRequest,
    response: HttpResponse,
    sender: BodySender,
    isPassedOn: boolean,
  ) {
    this.#bodies = bodies;
    this.#isPassedOn = isPassedOn;
    this.#request = request;
    this.#response = response;
    this.#sender = sender;
    this.#isVerified = sender === "verified";
    this.#account = bodies.accountOf(connectionOf(request));
    response.once("close", this.#close);
  }

  /** Begins if the sender need not be verified first, or is known already. False: {@link begin} has to be used. */
  beginNow(): boolean {
    const { authorization } = this.#request.headers;
    if (mustVerifyFirst(this.#request) && typeof this.#sender !== "string" && !this.#isVerified) {
      if (!this.#bodies.check.isVerified(authorization)) return false;
      this.#verified();
    }
    this.#sendContinue();
    return true;
  }

  begin(): Awaitable<void> {
    return chain(mustVerifyFirst(this.#request) ? this.#verify() : undefined, () => this.#sendContinue());
  }

  take(bytes: number): Awaitable<void> {
    // Messages without a token are not longer than this, and of a stream only one is held.
    const kept = this.#sender === "anybody" ? Math.min(bytes, unverifiedBytes - this.#heldBytes) : bytes;
    if (this.#isOver || kept === 0) return;
    this.#takenBytes += kept;
    const isFree = this.#takenBytes <= unverifiedBytes && this.#bodies.hasRoomForUnverified(this.#account, kept);
    return chain(this.#isVerified || isFree ? undefined : this.#verify(), () => this.#hold(kept));
  }

  /** A long body, whose handler has begun before it came, waits for its turn to be decoded. */
  complete(): Awaitable<void> {
    if (this.#heldBytes > unverifiedBytes) return this.#bodies.turn?.(this.#request.headers.authorization);
  }

  /** Sends `100 Continue` if the client waits for it. */
  #sendContinue(): void {
    if (expectsContinue(this.#request) && "writeContinue" in this.#response) this.#response.writeContinue();
  }

  #verify(): Awaitable<void> {
    const sender = this.#sender;
    if (this.#isVerified || sender === "verified") return;
    if (sender !== "anybody")
      return chain(this.#bodies.check.verify(this.#request, this.#response, sender), () => this.#verified());
    if (!this.#bodies.hasRoomForUnverified(this.#account, 0)) throw this.#bodies.tooMuch();
  }

  #verified(): void {
    if (this.#isVerified) return;
    this.#isVerified = true;
    this.#bodies.verified(this.#heldBytes);
  }

  #hold(bytes: number): void {
    if (this.#isOver) return;
    if (this.#isPassedOn) this.#release();
    this.#bodies.hold(this.#account, bytes, this.#isVerified);
    this.#heldBytes += bytes;
  }

  readonly #close = () => {
    this.#isOver = true;
    this.#release();
  };

  #release(): void {
    this.#bodies.release(this.#account, this.#heldBytes, this.#isVerified);
    this.#heldBytes = 0;
  }
}

/**
 * Whether the sender of a request is verified before any of its body is read: the request has no token, or a body that
 * is long or compressed, or the client waits for `100 Continue`.
 */
function mustVerifyFirst(request: HttpRequest): boolean {
  const length = declaredLength(request);
  const isLong = Number.isFinite(length) && length > unverifiedBytes;
  return request.headers.authorization === undefined || isLong || isCoded(request) || expectsContinue(request);
}

/** Whether a body is compressed, in whatever protocol; Connect's GET has it in the URL. */
function isCoded({ headers, method, url = "" }: HttpRequest): boolean {
  return (
    (method === "GET" && url.includes("compression=")) ||
    isCoding(headers["content-encoding"]) ||
    isCoding(headers["grpc-encoding"]) ||
    isCoding(headers["connect-content-encoding"])
  );
}

function isCoding(value: unknown): boolean {
  return value !== undefined && value !== "identity";
}

function expectsContinue(request: HttpRequest): boolean {
  return headerOf(request, "expect")?.toLowerCase() === "100-continue";
}

/** The object that stands for the connection of a request. */
function connectionOf(request: HttpRequest): object {
  if ("stream" in request) return request.stream.session ?? request;
  return "socket" in request ? request.socket : request;
}
