/** Sign-in at an OpenID provider: the authorization code flow with PKCE of a public client. A chunk of its own. */
import * as openid from "openid-client";
import { returnPath } from "../invite/code.ts";
import { type ConsoleIssuer, issuerName, keepPending, type PendingSignIn, redirectPath } from "./issuers.ts";

/** Goes to the pages of a provider. Errors: an Error for people. */
export async function leaveForSignIn(issuer: ConsoleIssuer): Promise<void> {
  const url = await withProvider(issuer, async (provider) => {
    const codeVerifier = openid.randomPKCECodeVerifier();
    const [state, nonce] = [openid.randomState(), openid.randomNonce()];
    keepPending({ ...issuer, state, nonce, codeVerifier, returnTo: returnPath() });
    return openid.buildAuthorizationUrl(provider, {
      redirect_uri: location.origin + redirectPath,
      scope: "openid email profile",
      code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: "S256",
      state,
      nonce,
    });
  });
  location.assign(url);
}

/** The ID token of a sign-in that has returned with a URL. Errors: an Error for people. */
export function idTokenOf(pending: PendingSignIn, returned: URL): Promise<string> {
  return withProvider(pending, async (provider) => {
    const { id_token: token } = await openid.authorizationCodeGrant(provider, returned, {
      pkceCodeVerifier: pending.codeVerifier,
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      idTokenExpected: true,
    });
    return token!;
  });
}

async function withProvider<T>(
  { issuer, clientId }: ConsoleIssuer,
  run: (provider: openid.Configuration) => Promise<T>,
): Promise<T> {
  const isLoopback = issuer.startsWith("http:");
  try {
    const provider = await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), {
      execute: isLoopback ? [openid.allowInsecureRequests] : [],
    });
    return await run(provider);
  } catch (error) {
    throw new Error(`Signing in with ${issuerName(issuer)} failed: ${messageOf(error)}`, { cause: error });
  }
}

/** What the provider says (RFC 6749, section 5.2), or else what went wrong: the library wraps it. */
function messageOf(error: unknown): string {
  const { error: code, error_description: description, message, cause } = error as Record<string, unknown>;
  if (typeof code === "string") return typeof description === "string" ? `${description} (${code})` : code;
  if (cause instanceof Error) return messageOf(cause);
  if (error instanceof TypeError) return "it cannot be reached, or does not allow calls from this page (CORS)";
  return String(message);
}
