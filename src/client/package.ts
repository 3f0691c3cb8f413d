/** What the package exports as `@platform-api/client`. */
export { type CallOptions, Code } from "@connectrpc/connect";
export * from "../../gen/client.ts";
export { PlatformError } from "./errors.ts";
export type { List } from "./list.ts";
export {
  createClientsOf,
  createPlatformClient,
  type Method,
  type PlatformClient,
  type ServiceClient,
  type ServiceClients,
} from "./platform-client.ts";
export type { RetryOptions } from "./retry.ts";
export { staticToken, type TokenRequest, type TokenSource } from "./token.ts";
export { type ExchangedTokenOptions, exchangedToken } from "./tokens/exchanged.ts";
export { type ExchangedToken, type ExchangeRequest, exchangeToken, refreshToken, revokeToken } from "./tokens/sts.ts";
export { createPlatformTransport, type TransportFactory, type TransportOptions } from "./transport.ts";
