/**
 * The endpoints of no service: liveness, readiness and the issuer's public documents. They take GET without a token.
 */

import { type Issuer, keySetMaxAgeSeconds } from "../auth/index.ts";
import { type Endpoints, readEndpoint } from "../http/index.ts";
import type { PortResponse } from "../message/index.ts";

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

interface Answer {
  readonly status: number;
  readonly document: unknown;
  readonly maxAgeSeconds?: number;
}

/** The endpoints of a server. */
export function createEndpoints({ issuer, unreadiness, onProbe, onError }: EndpointsOptions): Endpoints {
  const ok = { status: 200, document: { status: "ok" } };
  const ready = () => {
    onProbe();
    const status = unreadiness();
    return status === undefined ? ok : { status: 503, document: { status } };
  };
  const published = (document: unknown) => ({ status: 200, document, maxAgeSeconds: keySetMaxAgeSeconds });
  const endpointOf = (make: () => Answer | Promise<Answer>) =>
    readEndpoint(async (request, response) => {
      const { status, document, maxAgeSeconds } = await make();
      const body = JSON.stringify(document);
      response.statusCode = status;
      response.setHeader("content-type", "application/json");
      response.setHeader("content-length", Buffer.byteLength(body));
      if (maxAgeSeconds !== undefined) response.setHeader("cache-control", `public, max-age=${maxAgeSeconds}`);
      response.end(request.method === "HEAD" ? "" : body);
    }, onError);
  return {
    "/livez": endpointOf(() => ok),
    "/readyz": endpointOf(ready),
    "/.well-known/openid-configuration": endpointOf(() => published(issuer.discovery())),
    "/.well-known/jwks.json": endpointOf(async () => published(await issuer.jwks())),
  };
}
