/** Files of this package that are read while it runs. */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/** Where a file is, in a checkout and in an installed package. `path`: from the folder of `package.json`. */
export function packageFile(path: string): URL {
  // `findPackageJSON` is missing in Node 20, which has to get as far as the message about its version.
  return new URL(path, pathToFileURL(createRequire(import.meta.url).resolve("platform-api/package.json")));
}
