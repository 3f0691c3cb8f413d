/** Where the temporary files of a test run are, the databases above all. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

/** The file system of Linux that is in memory. */
const memory = "/dev/shm";

/** What it must have free, in bytes: `npm test` needs 130 MB, and the campaigns install packages. */
const room = 3 * 1024 ** 3;

/**
 * Puts them in memory, where it has room and lets programs run. A run makes hundreds of databases, and to write them to
 * a disk takes longer than most tests. The folder goes when this process ends.
 */
export function putTemporaryFilesInMemory(): void {
  if (process.env.TMPDIR !== undefined || !hasRoom() || !runsPrograms()) return;
  const folder = mkdtempSync(join(memory, "platform-tests-"));
  chmodSync(folder, 0o711); // PostgreSQL has a user of its own
  process.env.TMPDIR = folder;
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
}

function hasRoom(): boolean {
  if (!existsSync(memory)) return false;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= room;
}

function runsPrograms(): boolean {
  const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
  const options = mounts.map((line) => line.split(" ")).findLast(([, folder]) => folder === memory)?.[3];
  return options?.split(",").includes("noexec") === false;
}
