/**
 * The claims of a JSON Web Token, unverified: for people only, since the server verifies tokens. Empty if they cannot
 * be read.
 */
export function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const text = atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    return Object(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return {};
  }
}
