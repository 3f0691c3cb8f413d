/** The version of this program. */
import { existsSync, readFileSync } from "node:fs";

/** Reads `package.json`, which is beside `src` in a checkout and beside `dist` in an installed package. */
export function version(): string {
  const files = ["../package.json", "../../package.json"].map((path) => new URL(path, import.meta.url));
  const found = files.find((file) => existsSync(file));
  return found === undefined ? "unknown" : JSON.parse(readFileSync(found, "utf8")).version;
}
