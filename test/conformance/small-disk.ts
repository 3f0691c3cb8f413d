/** A disk that a test can fill. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A small file system in a folder, and why there can be none. `size`: in bytes. */
export function mountDisk(size = 16 * 1024 * 1024): { readonly folder: string } | { readonly missing: string } {
  const folder = mkdtempSync(join(tmpdir(), "platform-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder], { stdio: "pipe" });
  } catch (error) {
    rmSync(folder, { recursive: true });
    return { missing: (error as Error).message.split("\n")[0]! };
  }
  onTestFinished(() => {
    execFileSync("umount", ["--lazy", folder]);
    rmSync(folder, { recursive: true });
  });
  return { folder };
}

/** Takes all the space that is left. */
export function fill(path: string): void {
  const file = openSync(path, "w");
  try {
    for (let bytes = 1024 * 1024; bytes >= 1; ) {
      try {
        writeSync(file, Buffer.alloc(bytes));
      } catch {
        bytes = Math.floor(bytes / 2);
      }
    }
  } finally {
    closeSync(file);
  }
}
