/**
 * The fields of a user identity from the claims of its first token (OpenID Connect Core 1.0, 5.1), adapted to the value
 * rules of identities, which issuers do not know.
 */
/** Descriptive fields of an identity. */
export interface UserDescription {
  readonly name: string;
  readonly email?: string;
  readonly emailUnverified?: string;
}

const maxNameLength = 255;
/** Local part, `@` and domain (RFC 5321, 4.5.3.1). */
const maxEmailLength = 64 + 1 + 255;

/** Describes the user of a token. */
export function describeUser(claims: Readonly<Record<string, unknown>>): UserDescription {
  const { email, email_verified } = claims;
  return {
    name: nameIn(claims) ?? "user",
    ...(isEmail(email) && { [email_verified === true ? "email" : "emailUnverified"]: email }),
  };
}

/** Whether the claims of a token say anything of its user. */
export function describesUser(claims: Readonly<Record<string, unknown>>): boolean {
  return nameIn(claims) !== undefined || isEmail(claims.email);
}

function nameIn({ name, preferred_username, email }: Readonly<Record<string, unknown>>): string | undefined {
  return [name, preferred_username, email].map(nameFrom).find((text) => text !== "");
}

/** The attributes of a user in a directory (RFC 7643, 4.1), as claims. The e-mail address is not verified. */
export function claimsOfEntry(entry: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { displayName, userName, name, emails } = entry as {
    displayName?: string;
    userName?: string;
    name?: { formatted?: string };
    emails?: { value?: string; primary?: boolean }[];
  };
  const addresses = Array.isArray(emails) ? emails : [];
  const email = (addresses.find(({ primary }) => primary === true) ?? addresses[0])?.value;
  return { name: displayName ?? name?.formatted, preferred_username: userName, email };
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
