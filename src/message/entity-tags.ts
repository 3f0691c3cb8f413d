/** Entity tags (RFC 9110, section 8.8.3). */
const entityTag = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/**
 * Whether a client has the current representation: `If-None-Match` is `*`, or one of its entity tags is the current
 * one, by weak comparison. `etag`: the current one; undefined if there is none.
 */
export function hasCurrent(ifNoneMatch: string, etag: string | undefined): boolean {
  if (ifNoneMatch.trim() === "*") return true;
  const current = etag?.replace(/^W\//, "");
  return [...ifNoneMatch.matchAll(entityTag)].some(([, tag]) => tag === current);
}
