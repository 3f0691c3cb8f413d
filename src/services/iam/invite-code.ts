/**
 * Codes of group invites: base64 of the JSON object `{"grp":…,"kid":…,"sec":…}`, the group's uid, the key id and 256 random bits. A code is
 * right when its whole text is the one that was given out; only the SHA-256 of that text is kept, which for so many random bits is enough.
 */
import { hash, randomBytes, timingSafeEqual } from "node:crypto";

const keyIdBytes = 8;
const secretBytes = 32;
/** No text is known to have this digest. */
const noDigest = "0".repeat(64);

/** A new code and what is kept of it. */
export interface InviteCode {
  /** The secret itself, for its one appearance. */
  readonly code: string;
  /** Names the code without giving it away: 16 hex digits. */
  readonly keyId: string;
  /** 64 hex digits. */
  readonly digest: string;
}

/** Draws a code for an invite to a group. */
export function createInviteCode(group: string): InviteCode {
  const keyId = randomBytes(keyIdBytes).toString("hex");
  const content = { grp: group, kid: keyId, sec: randomBytes(secretBytes).toString("base64url") };
  const code = Buffer.from(JSON.stringify(content)).toString("base64");
  return { code, keyId, digest: hash("sha256", code) };
}

/** The key id that a text from a client names; "" when it is no code. */
export function keyIdOf(code: string): string {
  try {
    const { kid } = JSON.parse(Buffer.from(code, "base64").toString("utf8"));
    return typeof kid === "string" ? kid : "";
  } catch {
    return ""; // no key id is empty: the caller finds no invite
  }
}

/** Whether `code` has that digest. Takes the same time whatever the answer, and when there is no digest to compare with. */
export function matchesDigest(code: string, digest = noDigest): boolean {
  return timingSafeEqual(Buffer.from(hash("sha256", code)), Buffer.from(digest));
}
