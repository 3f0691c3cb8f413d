/** What a token says about itself. The server verifies it; this is for people only. */
interface Claims {
  readonly iss?: unknown;
  readonly sub?: unknown;
  readonly exp?: unknown;
  readonly act?: { readonly iss?: unknown };
}

/** When a token expires, in milliseconds since 1970; undefined if it does not say. */
export function expiryOf(token: string): number | undefined {
  const { exp } = claimsOf(token);
  return typeof exp === "number" ? exp * 1000 : undefined;
}

/** Who issued a token; for one that was exchanged, the issuer of the first one. */
export function issuerOf(token: string): string | undefined {
  const { act, iss } = claimsOf(token);
  const issuer = act?.iss ?? iss;
  return typeof issuer === "string" ? issuer : undefined;
}

/** `sub`. */
export function subjectOf(token: string): string | undefined {
  const { sub } = claimsOf(token);
  return typeof sub === "string" ? sub : undefined;
}

function claimsOf(token: string): Claims {
  try {
    return Object(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()));
  } catch {
    return {};
  }
}
