// Writes what browsers load for the pages into dist/pages: each file under a name with its digest, by Brotli.
// Usage: node pages/build.mjs (npm runs it after an installation, by `prepare`)
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

const target = join(import.meta.dirname, "../dist/pages");

/** Paths of the files, by name. */
const files = {
  "page.css": join(import.meta.dirname, "page.css"),
  "page.js": join(import.meta.dirname, "page.js"),
  "icon.svg": join(import.meta.dirname, "icon.svg"),
  "viewer.css": join(import.meta.dirname, "viewer.css"),
  "viewer.js": join(import.meta.dirname, "viewer.js"),
};

/** The viewer, one file that needs no other; undefined where development dependencies are left out. */
function viewer() {
  try {
    return fileURLToPath(new URL("browser/standalone.js", import.meta.resolve("@scalar/api-reference")));
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    console.error("pages: @scalar/api-reference is not installed; /docs will have no viewer");
    return undefined;
  }
}

const scalar = viewer();
if (scalar !== undefined) files["scalar.js"] = scalar;

const licenses = "THIRD-PARTY-LICENSES.txt";
/** Packages that the viewer may contain, and that have no text of their license, which is MIT. */
const withoutText = [
  "@headlessui/vue",
  "@replit/codemirror-css-color-picker",
  "@scalar/api-reference",
  "@scalar/openapi-types",
  "@scalar/schemas",
  "@scalar/workspace-store",
];
const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

mkdirSync(target, { recursive: true });
const written = new Set();
for (const [name, source] of Object.entries(files)) {
  // The source map of a viewer is not served.
  const content = Buffer.from(readFileSync(source, "utf8").replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"));
  const digest = createHash("sha256").update(content).digest("hex").slice(0, 16);
  const extension = extname(name);
  const file = `${name.slice(0, -extension.length)}-${digest}${extension}.br`;
  written.add(file);
  const path = join(target, file);
  if (existsSync(path)) continue; // a server that runs may be reading it
  writeFileSync(`${path}.new`, brotliCompressSync(content, quality));
  renameSync(`${path}.new`, path);
}
if (scalar !== undefined) {
  const { licensesOfBundled } = await import("../deploy/third-party-licenses.ts");
  writeFileSync(join(target, licenses), licensesOfBundled(scalar, withoutText));
  written.add(licenses);
}
for (const name of readdirSync(target)) if (!written.has(name)) rmSync(join(target, name));
