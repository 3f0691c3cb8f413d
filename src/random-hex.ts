/** Random bytes for names. Many are drawn at once, at a tenth of the cost of single draws. */
import { randomBytes } from "node:crypto";

const drawnBytes = 4096;
let drawn = Buffer.alloc(0);
let used = 0;

/** Random bytes from a CSPRNG, as hex digits. */
export function randomHex(bytes: number): string {
  if (used + bytes > drawn.length) {
    drawn = randomBytes(drawnBytes);
    used = 0;
  }
  used += bytes;
  return drawn.toString("hex", used - bytes, used);
}
