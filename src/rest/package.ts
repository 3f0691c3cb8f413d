/** What the package exports as `platform-api/rest`. */
export { type BindingOptions, listRoutes, type RestMethod, type Route } from "./binding.ts";
export type { CorsOptions } from "./cors.ts";
export { createRestHandler, type RestHandler } from "./handler.ts";
export type { HeaderMatcher } from "./headers.ts";
export { restPlugin } from "./hosts/fastify.ts";
export { createFetchHandler, type FetchHandler } from "./hosts/fetch.ts";
export { restMiddleware } from "./hosts/koa.ts";
export type { AnsweredCall, RestAnswer, RestMatch, RestOptions } from "./options.ts";
export { fromRouter, type RouterOptions } from "./router-transport.ts";
export { type ErrorShape, type StatusOptions, writeStatus } from "./status.ts";
