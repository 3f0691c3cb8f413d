/**
 * Bodies of requests while they come. A sender without a verified token may send 16 KiB: what is longer, or compressed, is read only once the token
 * has been verified. What is held of bodies is counted, for each connection and in total. Half of the total is kept for verified senders: while the
 * other half is full, everybody is verified before anything is read.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { flagOf } from "../config.ts";
import { resourceExhausted, unavailable } from "../errors.ts";
import { andThen, type Eventually } from "../eventually.ts";
import {
  type BodyWatch,
  declaredLength,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  toldLimit,
} from "../rest/index.ts";

/** What may be read of a body whose sender is not verified, in bytes. */
export const unverifiedBytes = 16 * 1024;

/** When to try again. */
const retryAfterMs = 1000;

/** Who sends a body: the caller of a method, anybody, or somebody who has been verified by other means. */
export type BodySender = DescMethod | "anybody" | "verified";

/** How the sender of a request is verified. */
export interface SenderCheck {
  /** Errors: UNAUTHENTICATED. */
  verify(request: HttpRequest, method: DescMethod): Eventually<unknown>;
  /** Whether it is known at once that the bearer token is valid. False decides nothing. */
  isVerified(authorization: string | undefined): boolean;
}

/** What is held of the bodies of one connection. */
export interface BodyAccount {
  bytes: number;
}

/** The bodies that come to one server. */
export class IncomingBodies {
  readonly #maxBytes: number;
  readonly #maxConnectionBytes: number;
  readonly #accounts = new WeakMap<object, BodyAccount>();
  readonly #watches = new WeakMap<HttpRequest, IncomingBody>();
  #bytes = 0;
  #unverified = 0;
  /** Nobody can be verified before there is a check. */
  check: SenderCheck = { verify: () => undefined, isVerified: () => false };

  /**
   * @param maxBytes what is held at most, in total.
   * @param maxConnectionBytes what is held at most for one connection.
   */
  constructor(maxBytes: number, maxConnectionBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxConnectionBytes = maxConnectionBytes;
  }

  /** The account of a connection, by whatever object stands for it. */
  accountOf(connection: object): BodyAccount {
    const account = this.#accounts.get(connection) ?? { bytes: 0 };
    this.share(connection, account);
    return account;
  }

  /** Has one more object stand for the connection of an account. */
  share(connection: object, account: BodyAccount): void {
    this.#accounts.set(connection, account);
  }

  /** Whether so much more of senders who are not verified may be held. */
  hasRoomForUnverified(account: BodyAccount, bytes: number): boolean {
    return this.#unverified + bytes <= this.#maxBytes / 2 && this.#refusal(account, bytes) === undefined;
  }

  /** Counts what is held. Errors: RESOURCE_EXHAUSTED if it is too much for the connection, UNAVAILABLE if it is in total. */
  hold(account: BodyAccount, bytes: number, isVerified: boolean): void {
    const refusal = this.#refusal(account, bytes);
    if (refusal !== undefined) throw refusal();
    this.release(account, -bytes, isVerified);
  }

  /** Counts what is held no longer. */
  release(account: BodyAccount, bytes: number, isVerified: boolean): void {
    account.bytes -= bytes;
    this.#bytes -= bytes;
    if (!isVerified) this.#unverified -= bytes;
  }

  /** Counts what is held of a sender who turned out to be a caller. */
  verified(bytes: number): void {
    this.#unverified -= bytes;
  }

  #refusal(account: BodyAccount, bytes: number): (() => Error) | undefined {
    if (account.bytes + bytes > this.#maxConnectionBytes) return () => this.#tooMuchOfOne();
    return this.#bytes + bytes > this.#maxBytes ? () => this.tooMuch() : undefined;
  }

  #tooMuchOfOne(): Error {
    const limit = toldLimit(this.#maxConnectionBytes, flagOf("maxPendingBodyBytes"));
    const text = `the request bodies under way on this connection are larger than ${limit}`;
    return resourceExhausted("request bodies of a connection", text, retryAfterMs);
  }

  /** The refusal of what is too much in total. */
  tooMuch(): Error {
    const limit = toldLimit(this.#maxBytes, flagOf("maxPendingBodyBytes"));
    return unavailable(`the request bodies under way on this server reach the limit of ${limit}`, retryAfterMs);
  }

  /** The watch over a request's body, the same each time. Undefined for what is there, and short. */
  watch(request: HttpRequest, response: HttpResponse, sender: BodySender): IncomingBody | undefined {
    if ("wholeBody" in request && !isDue(request)) return undefined;
    let watch = this.#watches.get(request);
    if (watch === undefined) {
      watch = new IncomingBody(this, request, response, sender);
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
  #heldBytes = 0;
  #isVerified: boolean;
  #isOver = false;

  constructor(bodies: IncomingBodies, request: HttpRequest, response: HttpResponse, sender: BodySender) {
    this.#bodies = bodies;
    this.#request = request;
    this.#response = response;
    this.#sender = sender;
    this.#isVerified = sender === "verified";
    this.#account = bodies.accountOf(connectionOf(request));
    response.once("close", this.#close);
  }

  /** Begins if the sender is known by now; false decides nothing. */
  beginNow(): boolean {
    const { authorization } = this.#request.headers;
    if (isDue(this.#request) && typeof this.#sender !== "string" && !this.#isVerified) {
      if (!this.#bodies.check.isVerified(authorization)) return false;
      this.#verified();
    }
    this.#askFor();
    return true;
  }

  begin(): Eventually<void> {
    return andThen(isDue(this.#request) ? this.#verify() : undefined, () => this.#askFor());
  }

  take(bytes: number): Eventually<void> {
    // What anybody may send has no longer messages than this, and of a stream of them one is held.
    const kept = this.#sender === "anybody" ? Math.min(bytes, unverifiedBytes - this.#heldBytes) : bytes;
    if (this.#isOver || kept === 0) return;
    const isFree = this.#heldBytes + kept <= unverifiedBytes && this.#bodies.hasRoomForUnverified(this.#account, kept);
    return andThen(this.#isVerified || isFree ? undefined : this.#verify(), () => this.#hold(kept));
  }

  /** `100 Continue`, if it is waited for. */
  #askFor(): void {
    if (expectsContinue(this.#request) && "writeContinue" in this.#response) this.#response.writeContinue();
  }

  #verify(): Eventually<void> {
    const sender = this.#sender;
    if (this.#isVerified || sender === "verified") return;
    if (sender !== "anybody") return andThen(this.#bodies.check.verify(this.#request, sender), () => this.#verified());
    if (!this.#bodies.hasRoomForUnverified(this.#account, 0)) throw this.#bodies.tooMuch();
  }

  #verified(): void {
    if (this.#isVerified) return;
    this.#isVerified = true;
    this.#bodies.verified(this.#heldBytes);
  }

  #hold(bytes: number): void {
    if (this.#isOver) return;
    this.#bodies.hold(this.#account, bytes, this.#isVerified);
    this.#heldBytes += bytes;
  }

  readonly #close = () => {
    this.#isOver = true;
    this.#bodies.release(this.#account, this.#heldBytes, this.#isVerified);
    this.#heldBytes = 0;
  };
}

/** Whether the sender of a request is verified before anything of its body is read: it will be refused anyway, or may be costly, or asks. */
function isDue(request: HttpRequest): boolean {
  const length = declaredLength(request);
  const isLong = Number.isFinite(length) && length > unverifiedBytes;
  return request.headers.authorization === undefined || isLong || isCoded(request) || expectsContinue(request);
}

/** Whether a body may be longer than it seems, whatever protocol says so; that of Connect's GET is in the URL. */
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

/** What stands for the connection of a request. */
function connectionOf(request: HttpRequest): object {
  if ("stream" in request) return request.stream.session ?? request;
  return "socket" in request ? request.socket : request;
}
