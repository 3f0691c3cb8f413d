/** Makes uids: random ones, and those that are derived from what they name. Random hex digits for other names, too. */
import { createHash, randomBytes } from "node:crypto";

/** A child's id begins with a 16-bit count of these ticks, which repeats every 17 minutes. */
const tickMs = 16;

/** The seed of predictable uids, and how many were made of it below each parent; undefined: uids are random. */
let seeded: { readonly seed: number; readonly made: Map<string, number> } | undefined;

/**
 * Makes uids predictable from now on: the n-th below a parent is always the same for a seed. Undefined: random again.
 */
export function seedUids(seed: number | undefined): void {
  seeded = seed === undefined ? undefined : { seed, made: new Map() };
}

/**
 * A new uid below `parent`, or of a root if that is "". It is from a CSPRNG, except for the first 16 of a child's 64
 * bits, which are from a clock: resources that are created together are neighbours in the indexes, where random ids
 * would each change pages of their own.
 */
export function newUid(parent: string): string {
  if (seeded !== undefined) return seededUid(seeded, parent);
  if (parent === "") return randomHex(20);
  const tick = Math.floor(Date.now() / tickMs) % 0x10000;
  return `${parent}/${tick.toString(16).padStart(4, "0")}${randomHex(6)}`;
}

function seededUid({ seed, made }: NonNullable<typeof seeded>, parent: string): string {
  const count = made.get(parent) ?? 0;
  made.set(parent, count + 1);
  const uid = fixedUid("seed", String(seed), parent, String(count));
  return parent === "" ? uid : `${parent}/${uid.slice(0, 16)}`;
}

/** A root uid that is always the same for the same parts: SHA-256 over them, separated by NUL. */
export function fixedUid(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 40);
}

/** The uid of the user identity of a token's issuer and subject. */
export function userIdentityUid(issuer: string, subject: string): string {
  return fixedUid("user", issuer, subject);
}

/** Random bytes are drawn at once, at a tenth of the cost of single draws. */
const drawnBytes = 4096;
let drawn = Buffer.alloc(0);
let used = 0;

/** Random bytes from a CSPRNG, as hex digits. */
export function randomHex(bytes: number): string {
  if (used + bytes > drawn.length) {
    drawn = randomBytes(drawnBytes);
    used = 0;
  }
  used += bytes;
  return drawn.toString("hex", used - bytes, used);
}
