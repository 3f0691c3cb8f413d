/** Reads a feed and collects its files and reports. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { FeedOptions } from "../../src/feeds/source/feed.ts";
import { openFeed } from "../../src/feeds/source/open.ts";
import type { BudgetLimits } from "../../src/feeds/source/size-budget.ts";

/** The files and reports of a feed. */
export interface FeedResult {
  /** Contents by name. */
  readonly files: Record<string, string>;
  readonly formats: string[];
  readonly refused: Record<string, string>;
  readonly skipped: string[];
}

/** Reads a feed to its end. */
export async function readFeed(
  location: string,
  options: Omit<Partial<FeedOptions>, "report"> = {},
  limits?: Partial<BudgetLimits>,
): Promise<FeedResult> {
  const result: FeedResult = { files: {}, formats: [], refused: {}, skipped: [] };
  const report = {
    refuse: (name: string, reason: string) => void Object.assign(result.refused, { [name]: reason }),
    skip: (name: string) => void result.skipped.push(name),
    advance: () => {},
  };
  for await (const { name, format, bytes } of openFeed(location, { report, ...options }, limits)) {
    result.files[name] = Buffer.from(bytes).toString();
    result.formats.push(format);
  }
  return result;
}

/** Creates an empty folder for one test. */
export async function folderForTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "platform-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates a file for one test. Returns its path. */
export async function fileForTest(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(await folderForTest(), name);
  await writeFile(path, content);
  return path;
}
