/**
 * What every request has to say without doubt, whatever the version of HTTP: its host, once and well-formed, and once at most each field that
 * decides who asks and what is sent. Of two values one reader takes the first and another the last.
 */

const single = new Set(["authorization", "content-type", "host"]);

/** RFC 3986 section 3.2, without userinfo, which RFC 9110 section 4.2.4 forbids. */
const authorityShape = /^(?:\[[\w:.~!$&'()*+,;=%-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})+)(?::\d{0,5})?$/i;

/** Whether a text is a host, with or without a port. */
export function isAuthority(text: string): boolean {
  return authorityShape.test(text);
}

/** Whether one of the fields that may be there once is there twice. `fields`: names, of any case, and values in turn. */
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

/** RFC 9113 section 8.2.1: what a name and a value are made of. Control characters other than a tab have no place in a value, RFC 9110 section 5.5. */
const fieldName = /^[!#-'*+.^`|~\w-]+$/;
const upperCase = /[A-Z]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const notInValue = /^[\t ]|[\t ]$|[\0-\x08\x0a-\x1f\x7f]/;

/** RFC 9113 section 8.2.2. */
const ofTheConnection = new Set(["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"]);

/** Whether a header list of HTTP/2, or a list of trailers, has a field that no message may have, RFC 9113 section 8.2. */
export function hasMalformedField(fields: readonly string[]): boolean {
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]!;
    const value = fields[at + 1]!;
    const bareName = name.startsWith(":") ? name.slice(1) : name;
    if (!fieldName.test(bareName) || upperCase.test(name) || notInValue.test(value)) return true;
    if (ofTheConnection.has(name) || (name === "te" && value !== "trailers")) return true;
  }
  return false;
}

/** Whether the header list of a request by HTTP/2 is malformed, RFC 9113 sections 8.2 and 8.3.1. What nghttp2 refuses of pseudo-header fields is left to it. */
export function isMalformedRequest(fields: readonly string[]): boolean {
  return hasMalformedField(fields) || repeatsField(fields) || !hasOneHost(fields);
}

/** Whether `:authority` or `host` is there, well-formed, and both mean the same. */
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

/** In lower case, without the port that the scheme has anyway. */
function normalAuthority(text: string, scheme: string | undefined): string {
  const port = scheme === "https" ? "443" : "80";
  return text.toLowerCase().replace(new RegExp(`:(?:${port})?$`), "");
}
