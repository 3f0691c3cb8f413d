/** Untrusted names in messages. */

const maxLength = 200;

/** The name for a message: cut if it is long, and quoted as JSON if it contains control characters. */
export function printable(name: string): string {
  const cut = name.length > maxLength ? `${name.slice(0, maxLength)}…` : name;
  return /\p{C}/u.test(cut) ? JSON.stringify(cut) : cut;
}
