/** The OpenID providers of this server, and a sign-in that has left for the pages of one. */

/** A provider, and the client of the console there. */
export interface ConsoleIssuer {
  /** Its URL. */
  readonly issuer: string;
  readonly clientId: string;
  /** uid of the identity provider of the platform that is named to the server; undefined: none is. */
  readonly provider?: string | undefined;
}

/** A sign-in between the redirect to the provider and the way back. It is in sessionStorage, and nowhere else. */
export interface PendingSignIn extends ConsoleIssuer {
  readonly state: string;
  readonly nonce: string;
  /** The secret of PKCE. */
  readonly codeVerifier: string;
  /** The address at which somebody signed in: path, search and hash. */
  readonly returnTo: string;
}

/** The path that providers redirect to. */
export const redirectPath = "/console/signed-in";

const pendingKey = "platform.sign-in";

/** The providers that the page names. None without TLS, except on this machine: browsers have no cryptography there. */
export function readIssuers(): readonly ConsoleIssuer[] {
  const text = document.querySelector<HTMLMetaElement>('meta[name="console-issuers"]')?.content ?? "[]";
  return isSecureContext ? JSON.parse(text) : [];
}

/** What people know a provider by: its host, and its path if it has one. */
export function issuerName(issuer: string): string {
  const { host, pathname } = new URL(issuer);
  return host + pathname.replace(/\/$/, "");
}

/**
 * The identity provider that was named at the last sign-in with an issuer, kept in localStorage; "" if the server asked
 * for one, undefined if nobody did.
 */
export function rememberedProvider(issuer: ConsoleIssuer): string | undefined {
  return localStorage.getItem(providerKeyOf(issuer)) ?? undefined;
}

export function rememberProvider(issuer: ConsoleIssuer, provider: string | undefined): void {
  if (provider === undefined) localStorage.removeItem(providerKeyOf(issuer));
  else localStorage.setItem(providerKeyOf(issuer), provider);
}

function providerKeyOf({ issuer, clientId }: ConsoleIssuer): string {
  return `platform.identity-provider ${issuer} ${clientId}`;
}

export function keepPending(pending: PendingSignIn): void {
  sessionStorage.setItem(pendingKey, JSON.stringify(pending));
}

/** The sign-in that has left, once. */
export function takePending(): PendingSignIn | undefined {
  const text = sessionStorage.getItem(pendingKey);
  sessionStorage.removeItem(pendingKey);
  return text === null ? undefined : JSON.parse(text);
}
