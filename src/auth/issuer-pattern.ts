/**
 * Patterns of issuers. A token is not verified yet when its issuer decides whose keys are fetched, so that no pattern may run then, and a look-up must do
 * however many there are. Therefore a pattern of issuers is about one origin, which it begins with, and of which a dot is a dot, escaped or not:
 *
 *     ^https://login\.example\.com/[a-z]+/v2\.0$
 *
 *     pattern = [ "^" ] scheme "://" host [ ":" port ] [ "/" pattern of the path ] [ "$" ]      without `|` outside of parentheses
 *
 * The scheme is https; http only of a loopback host. Any other pattern matches nothing.
 */
import { matchesPattern } from "./pattern.ts";

const beginning = /^\^?(https?):\\?\/\\?\/([\w-]+(?:\\?\.[\w-]+)*|\\\[[0-9a-fA-F:.]+\\\])(:[0-9]{1,5})?(?=\$?$|\\?\/)/;
const loopbackHosts = ["localhost", "127.0.0.1", "[::1]"];

/** The one origin of the issuers that a pattern matches, as an issuer spells it; undefined where it is not about one. */
export function originOfPattern(pattern: string): string | undefined {
  const [whole, scheme, escapedHost, port = ""] = beginning.exec(pattern) ?? [];
  if (whole === undefined || escapedHost === undefined || hasAlternatives(pattern.slice(whole.length)))
    return undefined;
  const host = escapedHost.replaceAll("\\", "");
  return scheme === "https" || loopbackHosts.includes(host) ? `${scheme}://${host}${port}` : undefined;
}

/** The origin of an issuer, as it spells it. */
export function originOfIssuer(issuer: string): string | undefined {
  return /^https?:\/\/[^/?#]+/.exec(issuer)?.[0];
}

/** Whether the whole issuer matches a pattern of issuers. */
export function matchesIssuerPattern(pattern: string, issuer: string): boolean {
  const origin = originOfPattern(pattern);
  return origin !== undefined && origin === originOfIssuer(issuer) && matchesPattern(pattern, issuer);
}

/** Whether there is a `|` outside of parentheses: what remains without escapes, classes and, from within, groups has one. */
function hasAlternatives(pattern: string): boolean {
  let outside = pattern.replace(/\\./gs, "").replace(/\[\^?\]?[^\]]*\]/g, "");
  for (let before = ""; before !== outside; ) {
    before = outside;
    outside = before.replace(/\([^()]*\)/g, "");
  }
  return outside.includes("|");
}
