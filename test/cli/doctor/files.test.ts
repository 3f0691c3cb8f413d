/** What `platform doctor` says about the space that is left for the database. */
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkDiskSpace } from "../../../src/cli/doctor/files.ts";
import { mountDisk } from "../../conformance/small-disk.ts";

const least = 100 * 1024 * 1024;

test.for([
  ["100 MiB are enough", least, 0, "ok"],
  ["less is a failure", least - 4096, 0, "failure"],
  ["less than the database has is a warning", least, least + 1, "warning"],
  ["as much as the database has is enough", least, least, "ok"],
] as const)("%s", ([, free, databaseBytes, state], { skip }) => {
  const disk = mountDisk(free);
  if ("missing" in disk) {
    console.warn(`the space on a disk is not tested: ${disk.missing}`);
    return skip(disk.missing);
  }
  const path = join(disk.folder, "platform.db");
  writeFileSync(path, "");
  truncateSync(path, databaseBytes); // takes no space
  expect(checkDiskSpace(path)).toMatchObject({
    state,
    message: expect.stringContaining(`are left in ${disk.folder}`),
    ...(state !== "ok" && { advice: expect.stringContaining("enlarge the file system") }),
  });
});
