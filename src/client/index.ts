/**
 * client: calls of a server of Platform API v2 from outside. It runs wherever there is `fetch`, and uses nothing of the
 * server.
 */
export { PlatformError } from "./errors.ts";
export { staticToken, type TokenSource } from "./token.ts";
export { type ExchangedTokenOptions, exchangedToken, renewalMs } from "./tokens/exchanged.ts";
export {
  type ExchangedToken,
  type ExchangeRequest,
  exchangeToken,
  refreshToken,
  revokeToken,
  type StsOptions,
} from "./tokens/sts.ts";
export { createPlatformTransport, type TransportOptions } from "./transport.ts";
