// Writes what browsers load for the pages into dist/pages: each file under a name with its digest, by Brotli.
// Usage: node pages/build.mjs (npm runs it after an installation, by `prepare`)
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const target = join(import.meta.dirname, "../dist/pages");

/** The viewer, one file that needs no other, as its plugin of Fastify serves it; undefined if that is not installed. */
async function readViewer() {
  try {
    const [{ fastify }, { default: plugin }] = await Promise.all([
      import("fastify"),
      import("@scalar/fastify-api-reference"),
    ]);
    const server = fastify();
    await server.register(plugin, { routePrefix: "/", configuration: { content: {} } });
    const { payload } = await server.inject("/js/scalar.js");
    return payload.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"); // the source map is not served
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    console.error("pages: development dependencies are not installed; /docs will have no viewer");
    return undefined;
  }
}

const read = (name) => readFileSync(join(import.meta.dirname, name), "utf8");

/** The texts of the files, by name. */
const files = Object.fromEntries(
  ["page.css", "page.js", "icon.svg", "viewer.css", "viewer.js"].map((name) => [name, read(name)]),
);
const viewer = await readViewer();
if (viewer !== undefined) files["scalar.js"] = viewer;

const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

mkdirSync(target, { recursive: true });
const written = new Set();
for (const [name, text] of Object.entries(files)) {
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
  const extension = extname(name);
  const file = `${name.slice(0, -extension.length)}-${digest}${extension}.br`;
  written.add(file);
  const path = join(target, file);
  if (existsSync(path)) continue; // a server that runs may be reading it
  writeFileSync(`${path}.new`, brotliCompressSync(text, quality));
  renameSync(`${path}.new`, path);
}
if (viewer !== undefined) {
  const licenses = "THIRD-PARTY-LICENSES.txt";
  writeFileSync(join(target, licenses), read("viewer-licenses.txt"));
  written.add(licenses);
}
for (const name of readdirSync(target)) if (!written.has(name)) rmSync(join(target, name));
