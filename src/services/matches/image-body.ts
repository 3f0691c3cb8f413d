/**
 * The body of the components of an image: which components it has, each since when. For each time there is a group: the
 * time in seconds and the count, of 4 bytes each, then ids of 8 bytes. Groups and ids are sorted.
 */

/** The bytes of an id. */
const idBytes = 8;
const headBytes = 8;

/** @param since the components by id, in hex digits, with the time in milliseconds since 1970. */
export function imageBody(since: ReadonlyMap<string, number>): Buffer {
  const groups = new Map<number, string[]>();
  for (const [id, ms] of since) {
    const seconds = Math.floor(ms / 1000);
    const ids = groups.get(seconds);
    if (ids === undefined) groups.set(seconds, [id]);
    else ids.push(id);
  }
  const parts: Buffer[] = [];
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
  for (let at = 0; at < bytes.byteLength; ) {
    const sinceS = bytes.getUint32(at);
    const end = at + headBytes + bytes.getUint32(at + 4) * idBytes;
    for (at += headBytes; at < end; at += idBytes) take(bytes.getUint32(at), bytes.getUint32(at + 4), sinceS);
  }
}
