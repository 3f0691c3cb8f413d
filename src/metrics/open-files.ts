/** The limit of file descriptors of this process. */
import { readFileSync } from "node:fs";

/** How many files and connections it may have open; undefined where that is unlimited, or not Linux. */
export function maxOpenFiles(): number | undefined {
  let limits: string;
  try {
    limits = readFileSync("/proc/self/limits", "utf8");
  } catch {
    return undefined;
  }
  const [, limit] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return limit === undefined ? undefined : Number(limit);
}
