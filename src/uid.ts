/**
 * Uids are materialised paths: a root's is 40 hex digits, a child's is its parent's uid, `/`, and 16 hex digits:
 * `0a…9f/1122334455667788`. The descendants of P are therefore exactly the resources whose uid starts with `P/`.
 */
import { createHash } from "node:crypto";
import { randomHex } from "./random-hex.ts";

const shape = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/;
/** Deeper than any real hierarchy, and short enough for a URL. */
const maxLength = 1024;

/** Whether `text` is a well-formed uid. */
export function isUid(text: string): boolean {
  return text.length <= maxLength && shape.test(text);
}

/** A child's id begins with a 16-bit count of these ticks, which repeats every 17 minutes. */
const tickMs = 16;

/**
 * A new uid below `parent`, or of a root if that is "". It is from a CSPRNG, except for the first 16 of a child's 64
 * bits, which are from a clock: resources that are created together are neighbours in the indexes, where random ids
 * would each change pages of their own.
 */
export function newUid(parent: string): string {
  if (parent === "") return randomHex(20);
  const tick = Math.floor(Date.now() / tickMs) % 0x10000;
  return `${parent}/${tick.toString(16).padStart(4, "0")}${randomHex(6)}`;
}

/** A root uid that is always the same for the same parts: SHA-256 over them, separated by NUL. */
export function fixedUid(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 40);
}

/** The uid of the user identity of a token's issuer and subject. */
export function userIdentityUid(issuer: string, subject: string): string {
  return fixedUid("user", issuer, subject);
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
