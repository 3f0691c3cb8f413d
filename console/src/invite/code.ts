/**
 * The code of an invite that the address has in its fragment, which browsers send to no server. It is removed from the
 * address as soon as the console is loaded, and kept in the memory of the tab.
 */
let code: string | undefined;

/** The code in the address, which is removed from it; without one, the code that the address had last. */
export function takeCode(): string | undefined {
  const found = new URLSearchParams(location.hash.slice(1)).get("code");
  if (found !== null && location.pathname.endsWith("/accept")) {
    code = found;
    history.replaceState(history.state, "", location.pathname);
  }
  return code;
}

/** Forgets the code. */
export function forgetCode(): void {
  code = undefined;
}

/**
 * The path of this page for a sign-in elsewhere to return to. It has the code again, which is in the address only then.
 */
export function returnPath(): string {
  const isAccepting = code !== undefined && location.pathname.endsWith("/accept");
  return (isAccepting ? acceptAddress(code) : location.href).slice(location.origin.length);
}

/** The address where the code of an invite is accepted; without a code, where somebody enters one. */
export function acceptAddress(inviteCode?: string): string {
  const page = `${location.origin}/console/accept`;
  return inviteCode === undefined ? page : `${page}#code=${encodeURIComponent(inviteCode)}`;
}
