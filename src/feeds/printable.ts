/** Names from nobody knows where, as they can be shown. */

const maxLength = 200;

/** A name without control characters, cut where it is long. */
export function printable(name: string): string {
  const cut = name.length > maxLength ? `${name.slice(0, maxLength)}…` : name;
  return /\p{C}/u.test(cut) ? JSON.stringify(cut) : cut;
}
