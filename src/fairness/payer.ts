/** Whom the work of calls counts against: the organisation that a call is about, or its caller. */
import { rootOf } from "../uid.ts";

/** Whom work counts against. */
export interface WorkPayer {
  /** The account: an organisation, a principal, or an address. */
  readonly account: string;
  /** The caller. Those of one account take turns. */
  readonly caller: string;
}

/** Whom the work of the server itself counts against. */
export const nobody: WorkPayer = { account: "", caller: "" };

/** The payer of all calls with one token. */
export interface Payer extends WorkPayer {
  /**
   * uid of the organisation that its last call was about, if it holds a grant there, else {@link caller}; "" when a
   * call was refused because the token has no caller.
   */
  account: string;
  /** The principal, or the identity that its token names. */
  readonly caller: string;
  /** The token is known to have a caller. */
  readonly isKnown: true;
  /** In the middle of long work: lets others have their turns, if this payer has had the event loop for long. */
  pause(): Promise<void> | undefined;
}

/** Lets others have their turns, in the middle of work of a payer. */
export type Pause = (payer: Payer) => Promise<void> | undefined;

/** Creates the payer of a caller. */
export function createPayer(caller: string, pause: Pause): Payer {
  const payer: Payer = { account: caller, caller, isKnown: true, pause: () => pause(payer) };
  return payer;
}

/** A call is about `uid`. A grant for the whole platform is none of the organisation. */
export function chargeCallAt(payer: Payer, grants: readonly { readonly scope: string }[], uid: string): void {
  const root = isWithin(payer.account, uid) ? payer.account : rootOf(uid);
  for (const { scope } of grants) {
    if (isWithin(root, scope)) {
      payer.account = root;
      return;
    }
  }
  payer.account = payer.caller;
}

/** A call is about everything in these scopes. */
export function chargeCallIn(payer: Payer, scopes: readonly string[]): void {
  const [first = ""] = scopes;
  const root = isWithin(payer.account, first) ? payer.account : rootOf(first);
  payer.account = root !== "" && scopes.every((scope) => isWithin(root, scope)) ? root : payer.caller;
}

function isWithin(root: string, uid: string): boolean {
  return uid.startsWith(root) && root !== "" && (uid.length === root.length || uid[root.length] === "/");
}
