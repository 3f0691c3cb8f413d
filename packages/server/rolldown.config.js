// Bundles the program with all that it uses: a command loads the chunks that it needs, and nothing is installed beside.
import { defineConfig } from "rolldown";
import { thirdPartyLicenses } from "../../deploy/third-party-licenses.ts";

/** Packages that have no text of their license, which is MIT. */
const withoutText = ["@nodable/entities", "pg-types", "pgpass"];

export default defineConfig({
  input: {
    main: "src/main.ts",
    // Threads, which are started by the names of their files.
    thread: "src/app/admin/thread.ts",
    "checkpoint-thread": "src/store/engines/sqlite/checkpoint-thread.ts",
    "reader-thread": "src/store/engines/sqlite/reader-thread.ts",
    "migration-thread": "src/store/migration-thread.ts",
    "document-thread": "src/feeds/formats/threads/document-thread.ts",
  },
  platform: "node",
  transform: { target: "node24.16" },
  plugins: [thirdPartyLicenses(withoutText)],
  output: {
    dir: "dist/packages/server/dist/program",
    cleanDir: true,
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    comments: { annotation: false, jsdoc: false, legal: true },
    // Names of functions and classes stay, so that stack traces can be read.
    minify: { compress: false, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
  },
});
