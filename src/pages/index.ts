/**
 * pages: what a person sees who opens the server's address in a browser: the front page, the API reference and the
 * console, and the OpenAPI documents. It knows HTTP, and no API.
 *
 * Pages follow a strict Content Security Policy: nothing inline, nothing from elsewhere, no frames. What they load has
 * its digest in its name, is compressed when the program is built, and may be cached forever.
 */
export { consolePath } from "./console.ts";
export { createPages, type PagesOptions } from "./endpoints.ts";
export type { HomeFacts } from "./home.ts";
