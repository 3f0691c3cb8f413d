/**
 * A third-party OpenID provider on loopback: the npm package `oidc-provider`, run as its users run it. A grant type of
 * the test replaces the browser: the client names the user and gets the ID token that a login would return.
 */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";

/** A running OpenID provider. */
export interface IndependentIssuer {
  readonly url: string;
  /** The ID token of a user's login at a client, with further claims. */
  idToken(clientId: string, subject: string, claims?: Readonly<Record<string, unknown>>): Promise<string>;
  close(): void;
}

/** What is used of the package, which may be missing. */
interface OidcProvider {
  // biome-ignore lint/suspicious/noExplicitAny: the package brings no types
  new (issuer: string, configuration: unknown): any;
}

interface GrantContext {
  readonly oidc: { readonly params: { readonly username: string; readonly claims: string } };
  body: unknown;
}

const grantType = "urn:test:login";
const clientSecret = "a client secret of the test";
const packageName: string = "oidc-provider"; // not a literal: types of a package that may be missing cannot be resolved

/** Starts it with these clients; undefined where the package is not installed. */
export async function startIndependentIssuer(...clientIds: string[]): Promise<IndependentIssuer | undefined> {
  const OidcProvider = await import(packageName).then(
    (found: { default: OidcProvider }) => found.default,
    () => undefined,
  );
  if (OidcProvider === undefined) return undefined;
  let listener: RequestListener = (_request, response) => void response.writeHead(503).end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const provider = new OidcProvider(url, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: "k", alg: "RS256", use: "sig" }] },
    cookies: { keys: ["a cookie key of the test"] },
    features: { devInteractions: { enabled: false } },
    clients: clientIds.map((client_id) => ({
      client_id,
      client_secret: clientSecret,
      token_endpoint_auth_method: "client_secret_post",
      grant_types: [grantType],
      response_types: [],
      redirect_uris: [],
    })),
  });
  provider.registerGrantType(
    grantType,
    async (context: GrantContext) => {
      const { username, claims } = context.oidc.params;
      const token = new provider.IdToken({ sub: username }, { ctx: context });
      token.scope = "openid";
      for (const [name, value] of Object.entries(JSON.parse(claims))) token.set(name, value);
      context.body = { id_token: await token.issue({ use: "idtoken" }) };
    },
    ["username", "claims"],
  );
  listener = provider.callback();
  return {
    url,
    async idToken(clientId, subject, claims = {}) {
      const body = new URLSearchParams({
        grant_type: grantType,
        client_id: clientId,
        client_secret: clientSecret,
        username: subject,
        claims: JSON.stringify(claims),
      });
      const response = await fetch(`${url}/token`, { method: "POST", body });
      const answer = (await response.json()) as { id_token?: string };
      if (answer.id_token === undefined) throw new Error(JSON.stringify(answer));
      return answer.id_token;
    },
    close: () => server.close(),
  };
}
