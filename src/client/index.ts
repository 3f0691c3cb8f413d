/**
 * client: calls of a server of Platform API v2 from outside. It runs wherever there is `fetch`, and uses nothing of the
 * server.
 */
export { PlatformError } from "./errors.ts";
export { staticToken, type TokenSource } from "./token.ts";
export { createPlatformTransport, type TransportOptions } from "./transport.ts";
