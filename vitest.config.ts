import { defineConfig } from "vitest/config";

/** A project is a folder of tests with one promise; see CONTRIBUTING.md. */
const project = (name: string, include: string[], exclude: string[] = []) => ({
  test: { name, include, exclude, environment: "node", testTimeout: 30_000, hookTimeout: 60_000 },
});

export default defineConfig({
  test: {
    reporters: ["default", ["json", { outputFile: "node_modules/.cache/test-report.json" }]],
    projects: [
      project("unit", ["test/**/*.test.ts"], ["test/contract/**", "test/conformance/**"]),
      project("contract", ["test/contract/**/*.test.ts"]),
      project("conformance", ["test/conformance/**/*.test.ts"]),
    ],
  },
});
