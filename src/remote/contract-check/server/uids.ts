/** Names and uids that nothing has. */
import { randomBytes } from "node:crypto";

/** A name that nothing has: `check-0f3a…`. */
export function freshName(): string {
  return `check-${randomBytes(6).toString("hex")}`;
}

/** A well-formed uid below `parent` that nothing has; "" for one of a root. */
export function freshUid(parent: string): string {
  return parent === "" ? randomBytes(20).toString("hex") : `${parent}/${randomBytes(8).toString("hex")}`;
}
