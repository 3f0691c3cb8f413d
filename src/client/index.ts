/**
 * client: the typed client of Platform API v2, published as `platform-api/client`. It runs in Node, browsers, Deno, Bun
 * and Workers, and uses nothing of the server.
 */
export { PlatformError } from "./errors.ts";
export { staticToken, type TokenSource } from "./token.ts";
export { createPlatformTransport, type TransportOptions } from "./transport.ts";
