import type { Random } from "./random.ts";

/** Bytes like the given ones, of which much is not a message any more. */
export function damaged(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.below(bytes.length + 1);
  const head = bytes.subarray(0, at);
  switch (random.below(5)) {
    case 0:
      return head;
    case 1:
      return Buffer.concat([bytes, head]);
    case 2:
      return Buffer.concat([head, random.bytes(1 + random.below(3)), bytes.subarray(at)]);
    case 3:
      return Buffer.concat([head, bytes.subarray(at + 1 + random.below(3))]);
    default:
      return bytes.map((byte, index) => (index === at ? byte ^ (1 << random.below(8)) : byte));
  }
}
