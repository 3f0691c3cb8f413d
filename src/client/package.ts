/** What the package exports as `platform-api/client`. */
export { type CallOptions, Code } from "@connectrpc/connect";
export * from "./contract.ts";
export * from "./index.ts";
export type { List } from "./list.ts";
export {
  createClientsOf,
  createPlatformClient,
  type Method,
  type PlatformClient,
  type ServiceClient,
  type ServiceClients,
} from "./platform-client.ts";
