/**
 * Uids are materialised paths: a root's is 40 hex digits, a child's is its parent's uid, `/`, and 16 hex digits:
 * `0a…9f/1122334455667788`. The descendants of P are therefore exactly the resources whose uid starts with `P/`.
 */

const shape = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/;
/** Deeper than any real hierarchy, and short enough for a URL. */
const maxLength = 1024;

/** Whether `text` is a well-formed uid. */
export function isUid(text: string): boolean {
  return text.length <= maxLength && shape.test(text);
}

/** The uid one level up; "" for a root. */
export function parentOf(uid: string): string {
  return uid.slice(0, Math.max(0, uid.lastIndexOf("/")));
}

/** The first segment: the uid of the organisation that holds `uid`. */
export function rootOf(uid: string): string {
  const slash = uid.indexOf("/");
  return slash < 0 ? uid : uid.slice(0, slash);
}

/** Every uid above `uid`, root first, itself excluded. */
export function ancestorsOf(uid: string): string[] {
  const ancestors: string[] = [];
  for (let slash = uid.indexOf("/"); slash >= 0; slash = uid.indexOf("/", slash + 1))
    ancestors.push(uid.slice(0, slash));
  return ancestors;
}

/** Whether `scope` is `uid` or above it; the scope "" is above everything. */
export function covers(scope: string, uid: string): boolean {
  return scope === "" || uid === scope || (uid.startsWith(scope) && uid[scope.length] === "/");
}

/** The scopes that no other of them covers, in key order. */
export function outermost(scopes: Iterable<string>): string[] {
  const result: string[] = [];
  for (const scope of [...new Set(scopes)].sort()) {
    const last = result.at(-1);
    if (last === undefined || !covers(last, scope)) result.push(scope);
  }
  return result;
}
