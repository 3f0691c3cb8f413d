/**
 * The fields of a user identity from the claims of its first token (OpenID Connect Core 1.0, 5.1), adapted to the value
 * rules of identities, which issuers do not know.
 */
import type { Claims } from "../../../auth/index.ts";

/** Descriptive fields of an identity. */
interface UserDescription {
  readonly name: string;
  readonly email?: string;
  readonly emailUnverified?: string;
}

const maxNameLength = 255;
/** Local part, `@` and domain (RFC 5321, 4.5.3.1). */
const maxEmailLength = 64 + 1 + 255;

/** Describes the user of a token. */
export function describeUser({ name, preferred_username, email, email_verified }: Claims): UserDescription {
  const names = [name, preferred_username, email].map(nameFrom);
  return {
    name: names.find((text) => text !== "") ?? "user",
    ...(isEmail(email) && { [email_verified === true ? "email" : "emailUnverified"]: email }),
  };
}

/** "José O'Neil" → "jose o-neil"; "" when no usable character is left. */
function nameFrom(claim: unknown): string {
  if (typeof claim !== "string") return "";
  const plain = claim.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain
    .replace(/[^a-z0-9 ._-]+/g, "-")
    .slice(0, maxNameLength)
    .replace(/^[ -]+|[ -]+$/g, "");
}

function isEmail(claim: unknown): claim is string {
  return (
    typeof claim === "string" &&
    claim.length <= maxEmailLength &&
    claim.isWellFormed() &&
    /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u.test(claim)
  );
}
