/** What `platform proto export` writes. */
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { expect } from "vitest";
import { temporaryFolder } from "./platform-process.ts";
import { runHere } from "./run-here.ts";

/** Exports into a new folder. */
export async function exportTo(...options: string[]): Promise<string> {
  const folder = join(await temporaryFolder(), "proto");
  const { code, stdout, stderr } = await runHere(["proto", "export", folder, ...options]);
  const written = `${filesOf(folder).length} files written to ${folder}\n`;
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: written });
  return folder;
}

/** The paths of the files below `folder`, relative to it. */
export function filesOf(folder: string, ending = ".proto"): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}
