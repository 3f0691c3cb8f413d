/** The few addresses that belong to no service: liveness, readiness, and the issuer's public documents. All open, all GET. */
import type { Issuer } from "../auth/index.ts";
import type { PortRequest, PortResponse } from "./one-port.ts";

/** Answers requests to its own paths; false for any other. */
export type Endpoints = (path: string, request: PortRequest, response: PortResponse) => boolean;

/** @param isReady whether the server takes calls. */
export function createEndpoints(issuer: Issuer, isReady: () => boolean): Endpoints {
  const documents: Readonly<Record<string, () => { status: number; document: unknown; maxAgeSeconds?: number }>> = {
    "/livez": () => ({ status: 200, document: { status: "ok" } }),
    "/readyz": () =>
      isReady() ? { status: 200, document: { status: "ok" } } : { status: 503, document: { status: "stopping" } },
    "/.well-known/openid-configuration": () => ({ status: 200, document: issuer.discovery(), maxAgeSeconds: 300 }),
    "/.well-known/jwks.json": () => ({ status: 200, document: issuer.jwks(), maxAgeSeconds: 300 }),
  };
  return (path, request, response) => {
    if (!Object.hasOwn(documents, path) || (request.method !== "GET" && request.method !== "HEAD")) return false;
    const { status, document, maxAgeSeconds } = documents[path]!();
    const body = JSON.stringify(document);
    response.statusCode = status;
    response.setHeader("content-type", "application/json");
    response.setHeader("content-length", Buffer.byteLength(body));
    if (maxAgeSeconds !== undefined) response.setHeader("cache-control", `public, max-age=${maxAgeSeconds}`);
    response.end(request.method === "HEAD" ? "" : body);
    return true;
  };
}
