/**
 * client: calls of a server of Platform API v2 from outside. It runs wherever there is `fetch`, and uses nothing of the
 * server.
 *
 * This file is what the command line uses. The package exports `package.ts` as `@platform-api/client`, which adds the
 * typed services.
 */
export { PlatformError } from "./errors.ts";
export { methodName } from "./method-name.ts";
export { isUntrusted, networkReason, reasonOf } from "./network.ts";
export { isSendable, sendableTokens, staticToken, type TokenRequest, type TokenSource } from "./token.ts";
export { claimsOf } from "./token-claims.ts";
export { exchangedToken, renewalMs } from "./tokens/exchanged.ts";
export {
  type ExchangedToken,
  type ExchangeRequest,
  exchangeToken,
  refreshToken,
  revokeToken,
} from "./tokens/sts.ts";
export { createPlatformTransport, type TransportFactory, type TransportOptions } from "./transport.ts";
