/**
 * Codes of group invites: base64 of the JSON object `{"grp":…,"kid":…,"sec":…}` with the uid of the group, the key id
 * and 256 random bits. Only the SHA-256 of the whole text is stored, which suffices for that many random bits.
 */
import { hash, randomBytes, timingSafeEqual } from "node:crypto";

const keyIdBytes = 8;
const secretBytes = 32;
/** No known text has this digest. */
const noDigest = "0".repeat(64);

/** A new code, and what is stored of it. */
interface InviteCode {
  /** The secret, shown once. */
  readonly code: string;
  /** Identifies the code without revealing it: 16 hex digits. */
  readonly keyId: string;
  /** 64 hex digits. */
  readonly digest: string;
}

/** Creates a random code for an invite to a group. */
export function createInviteCode(group: string): InviteCode {
  const keyId = randomBytes(keyIdBytes).toString("hex");
  const content = { grp: group, kid: keyId, sec: randomBytes(secretBytes).toString("base64url") };
  const code = Buffer.from(JSON.stringify(content)).toString("base64");
  return { code, keyId, digest: hash("sha256", code) };
}

/** The key id in a text from a client; "" when it is not code. */
export function keyIdOf(code: string): string {
  try {
    const { kid } = JSON.parse(Buffer.from(code, "base64").toString("utf8"));
    return typeof kid === "string" ? kid : "";
  } catch {
    return ""; // no invite has an empty key id
  }
}

/** Whether `code` has that digest. It takes the same time for every answer, also without a digest to compare with. */
export function matchesDigest(code: string, digest = noDigest): boolean {
  return timingSafeEqual(Buffer.from(hash("sha256", code)), Buffer.from(digest));
}
