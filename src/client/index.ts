/**
 * client: calls of a server of Platform API v2 from outside. It runs wherever there is `fetch`, and uses nothing of the
 * server.
 *
 * This file is what the command line uses. The package exports `package.ts` as `platform-api/client`, which adds the typed
 * services, and `node.ts` as `platform-api/client/node`, which is for Node alone.
 */
export { PlatformError } from "./errors.ts";
export type { RetryOptions } from "./retry.ts";
export { staticToken, type TokenSource } from "./token.ts";
export { createPlatformTransport, type TransportFactory, type TransportOptions } from "./transport.ts";
