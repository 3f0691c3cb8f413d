/** File systems that a database should not be on. */
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { networkFileSystemOf } from "../../../../src/store/index.ts";

test.each([
  [0x6969, "NFS"],
  [0xff53_4d42, "CIFS"],
  [0xff53_4d42 | 0, "CIFS"], // as a signed number
  [0xfe53_4d42, "SMB2"],
  [0x6573_5546, "FUSE"],
  [0xef53, undefined], // ext4
  [0x5846_5342, undefined], // xfs
  [0x0102_1994, undefined], // tmpfs
  [0, undefined],
])("the type 0x%x is %s", (type, name) => {
  expect(networkFileSystemOf("/anywhere", () => type)).toBe(name);
});

test("the type is asked of the system", () => {
  expect(() => networkFileSystemOf(tmpdir())).not.toThrow();
});
