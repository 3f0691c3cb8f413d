/**
 * Sign-in with an OpenID provider: the authorization code flow with PKCE (RFC 8252) and the device flow (RFC 8628).
 * Both end with an ID token.
 */
import * as openid from "openid-client";
import { isUntrusted, networkReason } from "../../client/index.ts";
import type { SignInProvider } from "../../client-node/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import { trustAnAuthority } from "../session/failure.ts";
import { openBrowser } from "./browser.ts";
import { listenOnLoopback } from "./loopback.ts";

/** How somebody signs in. */
export interface SignInOptions extends SignInProvider {
  /** For providers that give a secret to programs, too. It is not confidential there (RFC 8252, section 8.5). */
  readonly clientSecret: string | undefined;
  /** The port on 127.0.0.1 to which the browser returns; 0 for any. */
  readonly redirectPort: number;
  /** Whether the page is opened in the browser. */
  readonly opensBrowser: boolean;
  /** How long a browser may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Prints a message for the user. */
  tell(line: string): void;
}

const requestSeconds = 30;
const loopbackHosts = ["127.0.0.1", "localhost", "[::1]"];
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** Signs in with the browser on this machine. Returns the ID token. Errors: CommandFailure. */
export async function signInWithBrowser(options: SignInOptions): Promise<string> {
  return withProvider(options, async (provider) => {
    const verifier = openid.randomPKCECodeVerifier();
    const [state, nonce] = [openid.randomState(), openid.randomNonce()];
    const loopback = await listenOnLoopback(options.redirectPort, state);
    let timer: NodeJS.Timeout | undefined;
    try {
      const url = openid.buildAuthorizationUrl(provider, {
        redirect_uri: loopback.redirectUri,
        scope: options.scope,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
      });
      const isOpen = options.opensBrowser && (await openBrowser(url.href));
      options.tell(
        `${isOpen ? "The browser opens this page" : "Open this page in a browser on this machine"}:\n\n  ${url.href}\n`,
      );
      const late = new Promise<never>((_, fail) => {
        timer = setTimeout(
          () => fail(new CommandFailure(`nobody signed in within ${options.timeoutMs / 60_000} minutes`, 6)),
          options.timeoutMs,
        );
      });
      const returned = await Promise.race([loopback.returned, late]);
      try {
        const tokens = await openid.authorizationCodeGrant(provider, returned.url, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        });
        await returned.tell(undefined);
        return idTokenOf(tokens, options);
      } catch (error) {
        await returned.tell(`The provider refused: ${messageOf(error)}.`);
        throw error;
      }
    } finally {
      clearTimeout(timer);
      loopback.close();
    }
  });
}

/** Signs in with a browser on any machine. Returns the ID token. Errors: CommandFailure. */
export async function signInWithDevice(options: SignInOptions): Promise<string> {
  return withProvider(options, async (provider) => {
    const { device_authorization_endpoint: endpoint, grant_types_supported: grants } = provider.serverMetadata();
    if (endpoint === undefined || grants?.includes(deviceGrant) === false)
      throw new CommandFailure(`${options.issuer} does not offer the device flow; leave out --device`);
    const device = await openid.initiateDeviceAuthorization(provider, { scope: options.scope });
    const { verification_uri: uri, user_code: code, verification_uri_complete: complete } = device;
    options.tell(`Open ${printable(uri)} on any machine and enter the code\n\n  ${printable(code)}\n`);
    if (complete !== undefined) options.tell(`or open ${printable(complete)}\n`);
    const tokens = await openid.pollDeviceAuthorizationGrant(provider, device);
    return idTokenOf(tokens, options);
  });
}

async function withProvider(
  { issuer, clientId, clientSecret }: SignInOptions,
  run: (provider: openid.Configuration) => Promise<string>,
): Promise<string> {
  const url = URL.parse(issuer);
  const isLoopback = url?.protocol === "http:" && loopbackHosts.includes(url.hostname);
  if (url === null || !(url.protocol === "https:" || isLoopback))
    throw new CommandFailure(`--issuer must be an https URL, not ${JSON.stringify(issuer)}`, 2);
  try {
    const authentication = clientSecret === undefined ? openid.None() : openid.ClientSecretPost(clientSecret);
    const provider = await openid.discovery(url, clientId, undefined, authentication, {
      timeout: requestSeconds,
      execute: isLoopback ? [openid.allowInsecureRequests] : [],
    });
    return await run(provider);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    const hints = isUntrusted(error as Error) ? [`hint: ${trustAnAuthority}`] : [];
    throw new CommandFailure(
      [`signing in with ${issuer} failed: ${messageOf(error)}`, ...hints],
      isUnreachable(error) ? 6 : 4,
    );
  }
}

function idTokenOf({ id_token: token }: { readonly id_token?: string }, { issuer }: SignInOptions): string {
  if (token === undefined) throw new CommandFailure(`${issuer} gave no ID token; --scope must contain openid`);
  return token;
}

/** What the provider says (RFC 6749, section 5.2), or else what went wrong. */
function messageOf(error: unknown): string {
  const { error: code, error_description: description } = error as { error?: string; error_description?: string };
  if (typeof code === "string") return printable(description === undefined ? code : `${description} (${code})`);
  const { message, cause } = error as Error;
  const unreached = networkReason(error as Error);
  if (unreached !== undefined) return printable(unreached);
  const reason = cause instanceof Error ? (cause.cause instanceof Error ? cause.cause : cause).message : undefined;
  return printable(reason === undefined || reason === message ? message : `${message}: ${reason}`);
}

function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError || ["AbortError", "TimeoutError"].includes((error as Error).name);
}
