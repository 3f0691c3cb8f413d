/** Archives made on the spot, the honest and the hostile. */
import { buffer } from "node:stream/consumers";
import { crc32, deflateRawSync } from "node:zlib";
import { pack } from "tar-stream";

/** A header of a tar archive, of anything. */
type TarHeader = Parameters<ReturnType<typeof pack>["entry"]>[0];

/** A file to be put into an archive. */
export interface Member {
  readonly name: string;
  readonly content: string | Uint8Array;
  /** Bits of the zip header: 1 says that the file is encrypted. */
  readonly flags?: number;
  /** What the zip headers say instead of the true size. */
  readonly claimedSize?: number;
}

/** A zip file. Names are written as they are. */
export function zipOf(...members: readonly Member[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, flags = 0, claimedSize } of members) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const label = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800 | flags, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claimedSize ?? bytes.length, 18);
    common.writeUInt16LE(label.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, label, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\0", "latin1"), common, tail, label]));
    parts.push(local);
    offset += local.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, index, end]);
}

/** A tar archive of files, or of whatever headers say. */
export function tarOf(...members: readonly (Member | TarHeader)[]): Promise<Buffer> {
  const archive = pack();
  for (const member of members) {
    if ("content" in member) archive.entry({ name: member.name }, Buffer.from(member.content));
    else archive.entry(member);
  }
  archive.finalize();
  return buffer(archive);
}
