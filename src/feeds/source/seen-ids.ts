/** A set of ids with about 30 bytes for each id of any length. */
import { createHash } from "node:crypto";

/**
 * A set of ids by 52 bits of their SHA-256. Among a million ids, two collide in one of 9,000 feeds. A publisher who
 * forges a collision harms only its own feed.
 */
export class SeenIds {
  readonly #hashes = new Set<number>();

  get size(): number {
    return this.#hashes.size;
  }

  /** Adds an id. Returns false if it was in the set. */
  add(id: string): boolean {
    const { size } = this.#hashes;
    this.#hashes.add(hashOf(id));
    return this.#hashes.size > size;
  }

  has(id: string): boolean {
    return this.#hashes.has(hashOf(id));
  }
}

function hashOf(id: string): number {
  const digest = createHash("sha256").update(id).digest();
  return digest.readUIntBE(0, 6) * 16 + (digest[6]! >> 4);
}
