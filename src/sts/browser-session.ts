/**
 * Sessions of browsers: with `X-Platform-Session: cookie`, the refresh token is not in the response, but in a cookie
 * that no script reads and that only requests of the same site carry (RFC 6265bis). Nothing but `/sts` reads it.
 *
 * A page of another origin cannot use it: the header needs a preflight, which is never granted for it, and a request
 * whose `Origin` or `Sec-Fetch-Site` names another origin is refused.
 */

import { invalid, permissionDenied } from "../errors.ts";
import { headerOf, isOfSameOrigin, type PortRequest, type PortResponse } from "../message/index.ts";
import type { IssuedToken } from "../services/index.ts";

/** The session of a browser, at one request. */
export interface BrowserSession {
  /** The refresh token in the cookie. */
  readonly refreshToken: string | undefined;
  /** Puts the refresh token of the response into the cookie, or removes the cookie if there is none. */
  keep(next: IssuedToken["refreshToken"]): void;
}

/** The value of the header that asks for a cookie. */
const header = "x-platform-session";

/**
 * The session of a request; undefined if it asks for none. Errors: PERMISSION_DENIED from a page of another origin,
 * INVALID_ARGUMENT for another value of the header.
 * @param baseUrl where clients reach the platform.
 */
export function browserSessionOf(
  request: PortRequest,
  response: PortResponse,
  { baseUrl, now }: { readonly baseUrl: string; readonly now: () => number },
): BrowserSession | undefined {
  const wanted = headerOf(request, header);
  if (wanted === undefined) return undefined;
  if (wanted !== "cookie") throw invalid({ field: header, description: "must be cookie" });
  const { protocol, host } = new URL(baseUrl);
  if (!isOfSameOrigin(request, [host]))
    throw permissionDenied("sessions in cookies are for the pages of this server alone");
  const isSecure = protocol === "https:";
  // The prefix makes browsers take the cookie from this host alone, over TLS, and for all of its paths.
  const name = isSecure ? "__Host-platform-session" : "platform-session";
  const attributes = `; Path=${isSecure ? "/" : "/sts"}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
  return {
    refreshToken: cookieOf(request, name),
    keep(next) {
      const seconds = next === undefined ? 0 : Math.max(0, Math.floor((next.expireTimeMs - now()) / 1000));
      response.setHeader("set-cookie", `${name}=${next?.token ?? ""}; Max-Age=${seconds}${attributes}`);
    },
  };
}

function cookieOf(request: PortRequest, name: string): string | undefined {
  const pairs = (headerOf(request, "cookie") ?? "").split(/; */);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) || undefined;
}
