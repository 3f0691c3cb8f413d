/**
 * Authentication challenges: `WWW-Authenticate` (RFC 9110, 11.6.1; token authentication of the distribution project).
 */

/** A challenge of a supported scheme. */
export type Challenge =
  | { readonly scheme: "basic" }
  | { readonly scheme: "bearer"; readonly realm: string; readonly service: string | undefined };

const maxLength = 8192;
const parameter = /([a-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))/gi;

/** The challenge in a header. Prefers bearer to basic; undefined if there is neither. */
export function parseChallenge(header: string | readonly string[] | undefined): Challenge | undefined {
  const text = (typeof header === "string" ? [header] : (header ?? [])).join(", ").slice(0, maxLength);
  const bearer = /(?:^|,)\s*bearer\s+(.*)$/is.exec(text)?.[1];
  if (bearer !== undefined) {
    const parameters = new Map<string, string>();
    for (const [, name = "", quoted, token] of bearer.matchAll(parameter)) {
      const value = quoted?.replace(/\\(.)/g, "$1") ?? token ?? "";
      if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), value);
    }
    const realm = parameters.get("realm");
    if (realm !== undefined) return { scheme: "bearer", realm, service: parameters.get("service") };
  }
  return /(?:^|,)\s*basic(?:\s|,|$)/i.test(text) ? { scheme: "basic" } : undefined;
}
