/** What a handler works with besides its request; the pipeline sets it, handlers reach it through Connect's handler context. */
import { type ContextKey, type ContextValues, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { ReadSession, WriteSession } from "../store/index.ts";
import type { RowChange } from "./changes.ts";
import type { PageTokens } from "./page-token.ts";
import type { Secrets } from "./secrets.ts";

/** The store as this call may use it, and the server's parts that standard methods need. */
export interface CallEnvironment {
  /** In a mutating method the transaction of the call, otherwise the database for reading. */
  readonly session: ReadSession | WriteSession;
  readonly pageTokens: PageTokens;
  /** Seals what a row must hold and nobody may read there. */
  readonly secrets: Secrets;
  /** `iss` of the platform's own tokens. */
  readonly issuerUrl: string;
  /** Whether token issuers may be at http on a loopback host. */
  readonly allowLoopbackIssuers: boolean;
  /** How many identities with patterns an organisation may have. */
  readonly maxPatternIdentities: number;
  /** When the call began, in milliseconds since 1970: the one time of everything that it writes. */
  readonly nowMs: number;
  /** What the call has changed so far. */
  readonly changes: RowChange[];
}

const key: ContextKey<CallEnvironment | undefined> = createContextKey<CallEnvironment | undefined>(undefined);

/** Gives a call its environment; it has changed nothing yet. */
export function provideEnvironment(values: ContextValues, environment: Omit<CallEnvironment, "changes">): void {
  values.set(key, { ...environment, changes: [] });
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
