/**
 * Patterns for issuers. The issuer of a token decides whose keys are fetched before the token is verified. So no
 * pattern may be matched then, and an index lookup must be enough for any number of patterns. Therefore a pattern for
 * issuers is about one origin, which it begins with. A dot in the origin is a literal dot, escaped or not:
 *
 *     ^https://login\.example\.com/[a-z]+/v2\.0$
 *
 *     pattern = [ "^" ] scheme "://" host [ ":" port ] [ "/" pattern of the path ] [ "$" ]
 *
 * It has no `|` outside of parentheses. The scheme is https, or http for a loopback host. Any other pattern matches
 * nothing.
 */
import { matchesPattern } from "./pattern.ts";

const beginning = /^\^?(https?):\\?\/\\?\/([\w-]+(?:\\?\.[\w-]+)*|\\\[[0-9a-fA-F:.]+\\\])(:[0-9]{1,5})?(?=\$?$|\\?\/)/;
const loopbackHosts = ["localhost", "127.0.0.1", "[::1]"];

/**
 * The origin of the issuers that a pattern matches, spelled like those of issuers; undefined when it is not about one.
 */
export function originOfPattern(pattern: string): string | undefined {
  const [whole, scheme, escapedHost, port = ""] = beginning.exec(pattern) ?? [];
  if (whole === undefined || escapedHost === undefined || hasAlternatives(pattern.slice(whole.length)))
    return undefined;
  const host = escapedHost.replaceAll("\\", "");
  return scheme === "https" || loopbackHosts.includes(host) ? `${scheme}://${host}${port}` : undefined;
}

/** The origin of an issuer, in its spelling. */
export function originOfIssuer(issuer: string): string | undefined {
  return /^https?:\/\/[^/?#]+/.exec(issuer)?.[0];
}

/** Whether a pattern for issuers matches the whole issuer. */
export function matchesIssuerPattern(pattern: string, issuer: string, onWork?: (work: number) => void): boolean {
  const origin = originOfPattern(pattern);
  return origin !== undefined && origin === originOfIssuer(issuer) && matchesPattern(pattern, issuer, onWork);
}

/** Whether there is a `|` outside of parentheses: removes escapes, classes and, from the innermost, groups. */
function hasAlternatives(pattern: string): boolean {
  let outside = pattern.replace(/\\./gs, "").replace(/\[\^?\]?[^\]]*\]/g, "");
  for (let before = ""; before !== outside; ) {
    before = outside;
    outside = before.replace(/\([^()]*\)/g, "");
  }
  return outside.includes("|");
}
