/** What a page does about signing in before it shows anything. */
import { Code } from "@connectrpc/connect";
import type { PlatformError } from "../../../src/client/index.ts";
import { takeCode } from "../invite/code.ts";
import { issuerName, redirectPath, rememberProvider, takePending } from "./issuers.ts";
import { Tokens } from "./tokens.ts";

/** The tokens of the tab, and why there is none though somebody signed in. */
export interface OpenedSession {
  readonly tokens: Tokens;
  readonly problem: string | undefined;
}

/** Ends a sign-in that returns from a provider, or goes on with the session of the browser. */
export async function openSession(): Promise<OpenedSession> {
  const tokens = new Tokens();
  try {
    await (location.pathname === redirectPath ? completeSignIn(tokens) : tokens.resume());
    return { tokens, problem: undefined };
  } catch (error) {
    return { tokens, problem: (error as Error).message };
  } finally {
    takePending(); // of a sign-in that somebody has left
  }
}

async function completeSignIn(tokens: Tokens): Promise<void> {
  const returned = new URL(location.href);
  const pending = takePending();
  // The code is in the address: it is gone before anything else happens.
  history.replaceState(null, "", pending?.returnTo ?? "/console");
  takeCode();
  if (pending === undefined) throw new Error("This sign-in was not started in this tab. Sign in again.");
  const { idTokenOf } = await import("./openid.ts");
  const idToken = await idTokenOf(pending, returned);
  const { provider } = pending;
  rememberProvider(pending, provider);
  try {
    await tokens.begin(idToken, provider);
  } catch (error) {
    const mustBeNamed = provider === undefined && (error as PlatformError).code === Code.FailedPrecondition;
    if (mustBeNamed) rememberProvider(pending, "");
    const reason = (error as Error).message;
    const advice = mustBeNamed ? ". Enter the identity provider of your organisation" : "";
    throw new Error(`The server does not accept the sign-in with ${issuerName(pending.issuer)}: ${reason}${advice}`, {
      cause: error,
    });
  }
  const idp = tokens.claims?.idp;
  if (typeof idp === "string") rememberProvider(pending, idp);
}
