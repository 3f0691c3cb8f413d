/** Header fields of pages. Nothing inline runs, nothing comes from elsewhere, nothing frames a page. */

/** The fields that every page and every file of a page has. */
export const pageHeaders: Readonly<Record<string, string>> = {
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
};

/**
 * The policy of a page.
 * @param nonce of the style elements that a script of the page makes.
 * @param origins what such a script may call beside this server.
 */
export function contentSecurityPolicy(nonce?: string, origins: readonly string[] = []): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${nonce === undefined ? "" : ` 'nonce-${nonce}'`}`,
    `img-src 'self'${nonce === undefined ? "" : " data:"}`,
    ...(nonce === undefined ? [] : [["connect-src 'self'", ...origins].join(" ")]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
