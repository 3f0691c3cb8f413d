/** Reads a feed to its end and keeps all that was said of it. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { BudgetLimits } from "../../src/feeds/budget.ts";
import type { FeedOptions } from "../../src/feeds/feed.ts";
import { openFeed } from "../../src/feeds/open-feed.ts";

/** What came of a feed. */
export interface Witnessed {
  /** Contents by name. */
  readonly files: Record<string, string>;
  readonly formats: string[];
  readonly refused: Record<string, string>;
  readonly passedOver: string[];
}

/** Reads a feed. */
export async function witness(
  location: string,
  options: Omit<Partial<FeedOptions>, "report"> = {},
  limits?: Partial<BudgetLimits>,
): Promise<Witnessed> {
  const seen: Witnessed = { files: {}, formats: [], refused: {}, passedOver: [] };
  const report = {
    refuse: (name: string, reason: string) => void Object.assign(seen.refused, { [name]: reason }),
    passOver: (name: string) => void seen.passedOver.push(name),
    advance: () => {},
  };
  for await (const { name, format, bytes } of openFeed(location, { report, ...options }, limits)) {
    seen.files[name] = Buffer.from(bytes).toString();
    seen.formats.push(format);
  }
  return seen;
}

/** An empty folder for one test. */
export async function folderForTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "platform-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A file for one test; its path. */
export async function fileForTest(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(await folderForTest(), name);
  await writeFile(path, content);
  return path;
}
