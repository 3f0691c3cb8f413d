/**
 * The body of the components of an image: which components it has, each since when, and which own the files of which.
 * First the count of owned components in 4 bytes, then their ids, of 8 bytes, each with that of its owner. Then for
 * each time a group: the time in seconds and the count, of 4 bytes each, then ids. Groups and ids are sorted.
 */

/** The bytes of an id. */
const idBytes = 8;
const countBytes = 4;
const headBytes = 8;

/** What an image contains. Components are named by id, in hex digits. */
export interface ImageBody {
  /** With the time in milliseconds since 1970. */
  readonly since: ReadonlyMap<string, number>;
  /** The owners of those whose files belong to another component of the image. */
  readonly owners: ReadonlyMap<string, string>;
}

export function imageBody({ since, owners }: ImageBody): Buffer {
  const groups = new Map<number, string[]>();
  for (const [id, ms] of since) {
    const seconds = Math.floor(ms / 1000);
    const ids = groups.get(seconds);
    if (ids === undefined) groups.set(seconds, [id]);
    else ids.push(id);
  }
  const count = Buffer.alloc(countBytes);
  count.writeUInt32BE(owners.size);
  const owned = [...owners].map((pair) => pair.join("")).sort();
  const parts: Buffer[] = [count, Buffer.from(owned.join(""), "hex")];
  for (const [seconds, ids] of [...groups].sort(([a], [b]) => a - b)) {
    const head = Buffer.alloc(headBytes);
    head.writeUInt32BE(seconds, 0);
    head.writeUInt32BE(ids.length, 4);
    parts.push(head, Buffer.from(ids.sort().join(""), "hex"));
  }
  return Buffer.concat(parts);
}

/** The components by id, in hex digits, with the time in milliseconds since 1970. */
export function componentsIn(body: Uint8Array): Map<string, number> {
  const since = new Map<string, number>();
  const id = Buffer.alloc(idBytes);
  eachComponent(body, (high, low, seconds) => {
    id.writeUInt32BE(high, 0);
    id.writeUInt32BE(low, 4);
    since.set(id.toString("hex"), seconds * 1000);
  });
  return since;
}

/** Calls with the halves of the id of each component, and the time in seconds since 1970. */
export function eachComponent(body: Uint8Array, take: (high: number, low: number, sinceS: number) => void): void {
  const bytes = new DataView(body.buffer, body.byteOffset, body.length);
  for (let at = endOfOwned(bytes); at < bytes.byteLength; ) {
    const sinceS = bytes.getUint32(at);
    const end = at + headBytes + bytes.getUint32(at + 4) * idBytes;
    for (at += headBytes; at < end; at += idBytes) take(bytes.getUint32(at), bytes.getUint32(at + 4), sinceS);
  }
}

/** The halves of an id. */
type Halves = readonly [high: number, low: number];

/** Calls with the ids of each owned component and of its owner. */
export function eachOwned(body: Uint8Array, take: (component: Halves, owner: Halves) => void): void {
  const bytes = new DataView(body.buffer, body.byteOffset, body.length);
  const halves = (at: number): Halves => [bytes.getUint32(at), bytes.getUint32(at + 4)];
  for (let at = countBytes; at < endOfOwned(bytes); at += 2 * idBytes) take(halves(at), halves(at + idBytes));
}

function endOfOwned(bytes: DataView): number {
  return bytes.byteLength === 0 ? 0 : countBytes + bytes.getUint32(0) * 2 * idBytes;
}
