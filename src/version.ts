/** The version of this program. */
import { readFileSync } from "node:fs";
import { packageFile } from "./package-file.ts";

/** Reads it from `package.json`. */
export function version(): string {
  return JSON.parse(readFileSync(packageFile("package.json"), "utf8")).version;
}
