/**
 * Checks of the header fields of a request that hold for every version of HTTP: one valid host, and at most one of each
 * field that decides who calls or what is sent. Of two values one reader would take the first and another the last.
 */

const single = new Set(["authorization", "content-type", "host"]);

/** RFC 3986 section 3.2, without userinfo, which RFC 9110 section 4.2.4 forbids. */
const authorityShape = /^(?:\[[\w:.~!$&'()*+,;=%-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})+)(?::\d{0,5})?$/i;

/** Whether a text is a host, with or without a port. */
export function isAuthority(text: string): boolean {
  return authorityShape.test(text);
}

/** Whether a field that must be unique is repeated. `fields`: names, of any case, and values alternate. */
export function repeatsField(fields: readonly string[]): boolean {
  const seen = new Set<string>();
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]!.toLowerCase();
    if (!single.has(name)) continue;
    if (seen.has(name)) return true;
    seen.add(name);
  }
  return false;
}

/** RFC 9113 section 8.2.1. Control characters other than a tab are not allowed in a value, RFC 9110 section 5.5. */
const fieldName = /^[!#-'*+.^`|~\w-]+$/;
const upperCase = /[A-Z]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it searches control characters
const invalidInValue = /^[\t ]|[\t ]$|[\0-\x08\x0a-\x1f\x7f]/;

/** RFC 9113 section 8.2.2. */
const connectionSpecific = new Set(["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"]);

/**
 * Whether an HTTP/2 header list, or a list of trailers, has a malformed or connection-specific field, RFC 9113 section
 * 8.2.
 */
export function hasMalformedField(fields: readonly string[]): boolean {
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]!;
    const value = fields[at + 1]!;
    const bareName = name.startsWith(":") ? name.slice(1) : name;
    if (!fieldName.test(bareName) || upperCase.test(name) || invalidInValue.test(value)) return true;
    if (connectionSpecific.has(name) || (name === "te" && value !== "trailers")) return true;
  }
  return false;
}

/**
 * Whether the header list of an HTTP/2 request is malformed, RFC 9113 sections 8.2 and 8.3.1. Other errors of
 * pseudo-header fields are left to nghttp2.
 */
export function isMalformedRequest(fields: readonly string[]): boolean {
  return hasMalformedField(fields) || repeatsField(fields) || !hasOneHost(fields);
}

/** Whether there is a valid `:authority` or `host` and, if there are both, they are the same. */
function hasOneHost(fields: readonly string[]): boolean {
  const fieldOf = (name: string) => {
    for (let at = 0; at < fields.length; at += 2) if (fields[at] === name) return fields[at + 1];
    return undefined;
  };
  const authority = fieldOf(":authority");
  const host = fieldOf("host");
  const [first = "", ...others] = [authority, host].filter((text) => text !== undefined);
  const scheme = fieldOf(":scheme");
  return (
    isAuthority(first) && others.every((other) => normalAuthority(other, scheme) === normalAuthority(first, scheme))
  );
}

/** In lower case, without the default port of the scheme. */
function normalAuthority(text: string, scheme: string | undefined): string {
  const port = scheme === "https" ? "443" : "80";
  return text.toLowerCase().replace(new RegExp(`:(?:${port})?$`), "");
}
