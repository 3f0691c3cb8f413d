/**
 * The npm package `oidc-provider` on loopback, with its own pages for users and clients for programs and the console.
 */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";

/** A running OpenID provider. Its clients are `platform`, for programs, and `console`; neither has a secret. */
export interface OpenIdProvider {
  readonly url: string;
  close(): void;
}

/** What is used of the package, which brings no types. */
interface OidcProvider {
  new (issuer: string, configuration: unknown): { callback(): RequestListener };
}

const packageName: string = "oidc-provider"; // not a literal: types of a package that may be missing cannot be resolved

/** Starts it; undefined where the package is not installed. */
export async function startOpenIdProvider({ hasDeviceFlow = true } = {}): Promise<OpenIdProvider | undefined> {
  const Provider = await import(packageName).then(
    (found: { default: OidcProvider }) => found.default,
    () => undefined,
  );
  if (Provider === undefined) return undefined;
  let listener: RequestListener = (_request, response) => void response.writeHead(503).end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
  const provider = new Provider(url, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: "k", alg: "RS256", use: "sig" }] },
    cookies: { keys: ["a cookie key of the test"] },
    features: { deviceFlow: { enabled: hasDeviceFlow } },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    ttl: Object.fromEntries(
      ["AccessToken", "AuthorizationCode", "DeviceCode", "Grant", "IdToken", "Interaction", "Session"].map((it) => [
        it,
        600,
      ]),
    ),
    conformIdTokenClaims: false,
    clientBasedCORS: (_context: unknown, _origin: string, { clientId }: { clientId: string }) => clientId === "console",
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: () => ({ sub, name: sub, email: `${sub}@x.example`, email_verified: true }),
    }),
    clients: [
      {
        client_id: "platform",
        application_type: "native",
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", ...(hasDeviceFlow ? [deviceGrant] : [])],
        redirect_uris: ["http://127.0.0.1/callback"],
      },
      {
        client_id: "console",
        application_type: "native", // so that the port may be any
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code"],
        redirect_uris: ["http://127.0.0.1/console/signed-in"],
      },
    ],
  });
  listener = provider.callback();
  return {
    url,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
