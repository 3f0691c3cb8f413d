/**
 * The endpoints of no service: liveness, readiness and the issuer's public documents. They take GET without a token.
 */

import { type Issuer, keySetMaxAgeSeconds } from "../auth/index.ts";
import type { Awaitable } from "../awaitable.ts";
import { type Endpoints, readEndpoint } from "../http/index.ts";
import { type Answer, type PortResponse, send } from "../message/index.ts";

/** What {@link createEndpoints} needs. */
export interface EndpointsOptions {
  readonly issuer: Issuer;
  /** Why the server takes no calls now; undefined while it does. */
  unreadiness(): string | undefined;
  /** Called when somebody asks whether it is ready. */
  onProbe(): void;
  /** Answers when a document cannot be read. */
  onError(error: unknown, response: PortResponse): void;
}

/** The endpoints of a server. */
export function createEndpoints({ issuer, unreadiness, onProbe, onError }: EndpointsOptions): Endpoints {
  const published = (document: unknown) =>
    jsonAnswer(200, document, { "cache-control": `public, max-age=${keySetMaxAgeSeconds}` });
  const answers: Readonly<Record<string, () => Awaitable<Answer>>> = {
    "/livez": () => jsonAnswer(200, { status: "ok" }),
    "/readyz": () => {
      onProbe();
      const status = unreadiness();
      return jsonAnswer(status === undefined ? 200 : 503, { status: status ?? "ok" });
    },
    "/.well-known/openid-configuration": () => published(issuer.discovery()),
    "/.well-known/jwks.json": async () => published(await issuer.jwks()),
  };

  const endpointOf = (make: () => Awaitable<Answer>) =>
    readEndpoint(async (_request, response) => send(response, await make()), onError);
  return Object.fromEntries(Object.entries(answers).map(([path, make]) => [path, endpointOf(make)]));
}

function jsonAnswer(httpStatus: number, document: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  const body = JSON.stringify(document);
  return { httpStatus, headers: { "content-type": "application/json", ...headers }, body, isRaw: true };
}
