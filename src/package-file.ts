/** Files of this package that are read while it runs. */
import { findPackageJSON } from "node:module";
import { pathToFileURL } from "node:url";

/** Where a file is, in a checkout and in an installed package. `path`: from the folder of `package.json`. */
export function packageFile(path: string): URL {
  return new URL(path, pathToFileURL(findPackageJSON(import.meta.url)!));
}
