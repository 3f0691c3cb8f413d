// Writes the licenses of what the viewer contains into pages/viewer-licenses.txt: of its package with all that it was
// bundled from, which the checkout does not have. Run it after a change of @scalar/fastify-api-reference.
// Usage: node pages/licenses.mjs
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { licensesOfBundled } from "../deploy/third-party-licenses.ts";
import manifest from "../package.json" with { type: "json" };

/** Packages that the viewer may contain, and that have no text of their license, which is MIT. */
const withoutText = [
  "@headlessui/vue",
  "@replit/codemirror-css-color-picker",
  "@scalar/api-reference",
  "@scalar/openapi-types",
  "@scalar/schemas",
  "@scalar/workspace-store",
];

const folder = mkdtempSync(join(tmpdir(), "viewer-"));
const version = manifest.devDependencies["@scalar/fastify-api-reference"];
// The second is bundled, too, without being a dependency.
const packages = [`@scalar/api-reference@${version}`, "unist-util-find-after@5.0.0"];
execFileSync("npm", ["install", "--prefix", folder, "--ignore-scripts", ...packages], { stdio: "inherit" });
const bundle = join(folder, "node_modules/@scalar/api-reference/dist/browser/standalone.js");
writeFileSync(join(import.meta.dirname, "viewer-licenses.txt"), licensesOfBundled(bundle, withoutText));
rmSync(folder, { recursive: true });
