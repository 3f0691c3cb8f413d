/** Which version of the program this is. */
import { existsSync, readFileSync } from "node:fs";

/** The version of the package: its file is beside `src` in a checkout, and beside `dist/src` in an installed package. */
export function version(): string {
  const places = ["../../package.json", "../../../package.json"].map((path) => new URL(path, import.meta.url));
  const found = places.find((place) => existsSync(place));
  return found === undefined ? "unknown" : JSON.parse(readFileSync(found, "utf8")).version;
}
