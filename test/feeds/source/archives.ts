/** Makes archives, valid and hostile. */
import { buffer } from "node:stream/consumers";
import { crc32, deflateRawSync } from "node:zlib";
import { pack } from "tar-stream";

/** A tar header with arbitrary values. */
type TarHeader = Parameters<ReturnType<typeof pack>["entry"]>[0];

/** A file of an archive. */
export interface Member {
  readonly name: string;
  readonly content: string | Uint8Array;
  /** General purpose bits of the zip header: 1 marks an encrypted file. */
  readonly flags?: number;
  /** Size in the zip headers, in place of the true one. */
  readonly claimedSize?: number;
}

/** Makes a zip file. Names are written unchanged. */
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

/** Makes a tar archive of files or arbitrary headers. */
export function tarOf(...members: readonly (Member | TarHeader)[]): Promise<Buffer> {
  const archive = pack();
  for (const member of members) {
    if ("content" in member) archive.entry({ name: member.name }, Buffer.from(member.content));
    else archive.entry(member);
  }
  archive.finalize();
  return buffer(archive);
}
