// Writes the console into dist/console: index.html, and files whose names have a digest, all by Brotli.
// Usage: node console/build.mjs (npm runs it after an installation, by `prepare`)
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

/** The package that decodes entities in Markdown. */
const entities = "decode-named-character-reference";
const target = join(import.meta.dirname, "../dist/console");

/** What compiles it; undefined where development dependencies are left out. */
async function compiler() {
  try {
    return await import("vite");
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    console.error("console: vite is not installed; /console will say so");
    return undefined;
  }
}

/** The files that the browser loads before anybody does anything: those that index.html names, and the contract. */
function loadedFirst(output) {
  const { source: page } = output.find(({ fileName }) => fileName === "index.html");
  return output.filter(
    ({ fileName }) => fileName === "index.html" || /\.binpb$/.test(fileName) || page.includes(fileName),
  );
}

process.env.NODE_ENV = "production"; // Vite takes that of npm or of a test otherwise

const vite = await compiler();
if (vite !== undefined) {
  const { collectModules, thirdPartyLicenses } = await import("../deploy/third-party-licenses.ts");
  const workerModules = new Set();
  const { output } = await vite.build({
    root: import.meta.dirname,
    configFile: false,
    base: "/console/",
    logLevel: "error",
    html: { cspNonce: "{nonce}" },
    // Its form for browsers needs a document, which the worker that parses Markdown does not have.
    resolve: { alias: { [entities]: fileURLToPath(import.meta.resolve(entities)) } },
    plugins: [thirdPartyLicenses(["react-remove-scroll-bar"], workerModules)],
    worker: { plugins: () => [collectModules(workerModules)] },
    build: {
      write: false,
      target: "es2022",
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      chunkSizeWarningLimit: 2000,
    },
  });
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11 };
  const written = new Set();
  const first = loadedFirst(output);
  let firstBytes = 0;
  let licenses = "";
  // index.html is the last: it names the others.
  for (const file of output.sort((a, b) => a.fileName.endsWith(".html") - b.fileName.endsWith(".html"))) {
    const content = file.type === "chunk" ? file.code : file.source;
    if (file.fileName.endsWith(".txt")) {
      licenses = content;
      continue;
    }
    const path = join(target, `${file.fileName}.br`);
    written.add(path);
    const compressed = brotliCompressSync(content, { params });
    if (first.includes(file)) firstBytes += compressed.length;
    if (existsSync(path) && !path.endsWith(".html.br")) continue; // a server that runs may be reading it
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.new`, compressed);
    renameSync(`${path}.new`, path);
  }
  const notices = join(target, "THIRD-PARTY-LICENSES.txt");
  written.add(notices);
  writeFileSync(notices, licenses);
  for (const entry of readdirSync(target, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !written.has(path)) rmSync(path);
  }
  console.error(`console: ${(firstBytes / 1000).toFixed(0)} KB are loaded first`);
}
