// Bundles the program into dist/program, for the package: a command loads the chunks that it needs, and few files.
import { defineConfig } from "rolldown";
import manifest from "./package.json" with { type: "json" };

const { dependencies, optionalDependencies } = manifest;

export default defineConfig({
  input: {
    main: "src/main.ts",
    plugin: "src/openapi/plugin.ts",
    // Threads, which are started by the names of their files.
    thread: "src/app/admin/thread.ts",
    "checkpoint-thread": "src/store/engines/sqlite/checkpoint-thread.ts",
    "reader-thread": "src/store/engines/sqlite/reader-thread.ts",
  },
  platform: "node",
  transform: { target: "node24.16" },
  external: Object.keys({ ...dependencies, ...optionalDependencies }).map((name) => new RegExp(`^${name}(/|$)`)),
  output: {
    dir: "dist/program",
    cleanDir: true,
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    comments: false,
  },
});
