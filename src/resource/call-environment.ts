/**
 * The environment of a call: what a handler has besides its request. The pipeline provides it through Connect's context
 * values.
 */

import type { Message } from "@bufbuild/protobuf";
import { type ContextKey, type ContextValues, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { Quotas } from "../quotas.ts";
import type { Secrets } from "../sealing.ts";
import type { ReadSession, WriteSession } from "../store/index.ts";
import type { RowChange } from "./declaration.ts";
import type { PageTokens } from "./page-token.ts";

/** The store as this call may use it, and the parts of the server that handlers need. */
export interface CallEnvironment {
  /** The transaction of the call in a mutating method; reads outside transactions in any other. */
  readonly session: ReadSession | WriteSession;
  readonly pageTokens: PageTokens;
  /** Encrypts values that a row holds and that must not be readable there. */
  readonly secrets: Secrets;
  /** Where clients reach the server. */
  readonly baseUrl: string;
  /** `iss` of the platform's own tokens. */
  readonly issuerUrl: string;
  /** Whether token issuers may use http on a loopback host. */
  readonly allowLoopbackIssuers: boolean;
  /** The maximum of identities with patterns in an organisation. */
  readonly maxPatterns: number;
  readonly quotas: Quotas;
  /** When the call began, in milliseconds since 1970. Everything that the call writes has this time. */
  readonly nowMs: number;
  /** The changes of the call so far, in order. */
  readonly changes: RowChange[];
  /** Completes the answer of a call that only validates, after its transaction has ended without a change. */
  onValidated?: (session: ReadSession) => Promise<void>;
}

const key: ContextKey<CallEnvironment | undefined> = createContextKey<CallEnvironment | undefined>(undefined);

/** The environment of all calls of a server. */
export type ServerEnvironment = Omit<CallEnvironment, "session" | "nowMs" | "changes">;

/** Gives a call its environment, without changes. */
export function provideEnvironment(
  values: ContextValues,
  environment: ServerEnvironment,
  call: Pick<CallEnvironment, "session" | "nowMs">,
): void {
  values.set(key, { ...environment, session: call.session, nowMs: call.nowMs, changes: [] });
}

/** The environment of a call. */
export function environmentOf(context: Pick<HandlerContext, "values">): CallEnvironment {
  const environment = context.values.get(key);
  if (environment === undefined) throw new Error("the pipeline has not provided the environment of this call");
  return environment;
}

/** The database for reading; in a mutating method it sees the call's own writes. */
export function databaseOf(context: Pick<HandlerContext, "values">): ReadSession {
  return environmentOf(context).session;
}

/** The transaction of a mutating call. */
export function transactionOf(context: Pick<HandlerContext, "values">): WriteSession {
  const { session } = environmentOf(context);
  if (!("insert" in session)) throw new Error("a method marked NO_SIDE_EFFECTS must not write");
  return session;
}

/**
 * A request that came in pieces and was received, before the transaction of its call begins: a client may be slow, and
 * nobody waits for it.
 */
export interface Received {
  /** The message that stands for all pieces from now on: in records, and as the request of the handler. */
  readonly message: Message;
  /** What was made of the pieces; the handler finds it by {@link receivedOf}. */
  readonly value: unknown;
}

/**
 * Receives a request. It may read the database by `databaseOf(context)`, outside of a transaction.
 * @param first the first piece: the caller is authorized for what it names.
 * @param pieces those after it.
 */
export type Receiver = (first: Message, pieces: AsyncIterable<Message>, context: HandlerContext) => Promise<Received>;

type Kept = { readonly value: unknown } | undefined;

const receivedKey: ContextKey<Kept> = createContextKey<Kept>(undefined);

/** Gives a call what was received. */
export function provideReceived(values: HandlerContext["values"], value: unknown): void {
  values.set(receivedKey, { value });
}

/** What the receiver of a call has made of its pieces. */
export function receivedOf<T>(context: Pick<HandlerContext, "values">): T {
  const received = context.values.get(receivedKey);
  if (received === undefined) throw new Error("this method has no receiver");
  return received.value as T;
}
