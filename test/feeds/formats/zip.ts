/** Makes small zip archives (APPNOTE.TXT 6.3), optionally with wrong sizes. */
import { crc32, deflateRawSync } from "node:zlib";

/** A file of an archive. `size` replaces the true size. */
export type ZipEntry = readonly [name: string, content: string | Uint8Array, lie?: { readonly size: number }];

/** Makes an archive of deflated files. */
export function zip(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content, { size } = { size: Buffer.byteLength(content) }] of entries) {
    const packed = deflateRawSync(content);
    const about = Buffer.alloc(22); // shared by the local and the central header
    about.writeUInt16LE(20, 0);
    about.writeUInt16LE(8, 4);
    about.writeUInt32LE(crc32(content), 10);
    about.writeUInt32LE(packed.length, 14);
    about.writeUInt32LE(size, 18);
    const nameLength = Buffer.alloc(4);
    nameLength.writeUInt16LE(Buffer.byteLength(name));
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), about, nameLength, Buffer.from(name), packed]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.from("PK\x01\x02\x14\0"), about, nameLength, place.subarray(0, 14), Buffer.from(name));
    files.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...files, central, Buffer.from("PK\x05\x06"), end]);
}
