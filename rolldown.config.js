// Bundles the program into dist/program, for the package: a command loads the chunks that it needs, and few files.
import { defineConfig } from "rolldown";
import { thirdPartyLicenses } from "./deploy/third-party-licenses.ts";
import manifest from "./package.json" with { type: "json" };

/** What is loaded in hundreds of files: reading these took half of the time of a command, and a seventh of a start. */
const bundled = /^(@bufbuild\/(protobuf|protovalidate|re2)|@connectrpc\/.*|jose|kysely)$/;
const external = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).filter(
  (name) => !bundled.test(name),
);

export default defineConfig({
  input: {
    main: "src/main.ts",
    plugin: "src/openapi/plugin.ts",
    // Threads, which are started by the names of their files.
    thread: "src/app/admin/thread.ts",
    "checkpoint-thread": "src/store/engines/sqlite/checkpoint-thread.ts",
    "reader-thread": "src/store/engines/sqlite/reader-thread.ts",
    "migration-thread": "src/store/migration-thread.ts",
    "sbom-thread": "src/feeds/formats/sbom/sbom-thread.ts",
  },
  platform: "node",
  transform: { target: "node24.16" },
  plugins: [thirdPartyLicenses()],
  external: external.map((name) => new RegExp(`^${name}(/|$)`)),
  output: {
    dir: "dist/program",
    cleanDir: true,
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    comments: { annotation: false, jsdoc: false, legal: true },
    // Names of functions and classes stay, so that stack traces can be read.
    minify: { compress: false, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
  },
});
