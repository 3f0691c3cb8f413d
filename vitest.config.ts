import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { nameRun } from "./test/make-once.ts";
import { putTemporaryFilesInMemory } from "./test/temporary-files.ts";

putTemporaryFilesInMemory();
nameRun();

/** How long a test waits for what must come: the machine may be busy, so that only what never comes is late. */
const patience = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 30_000 } } };

/** Programs that tests start, hundreds of times, find here what Node compiled of them before. */
const env = { NODE_COMPILE_CACHE: join(tmpdir(), "compiled") };

/** Files that take minutes, by their names: most of them are short, and would come last. */
const longest = /\/(connect-conformance|examples|rolling-upgrade|request-costs|schemathesis|simultaneous-starts)\./;

/** Begins with the longest files, so that no worker waits for another at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => longest.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

interface More {
  readonly exclude?: string[];
  readonly globalSetup?: string[];
  readonly env?: Record<string, string>;
}

/**
 * A project is a folder of tests with one promise; see CONTRIBUTING.md. Its files share their modules, which are loaded
 * and optimized once for each worker: a test restores what it changes in them.
 */
const project = (name: string, include: string, more: More = {}) => ({
  test: {
    name,
    include: [include],
    environment: "node",
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false }, // Node loads them, as it loads the program
    ...patience,
    ...more,
    env: { ...env, ...more.env },
  },
});

/** CI runs the campaigns in full after this, so that their short forms would tell nothing more. */
const shortForms = process.env.TEST_CAMPAIGNS_FOLLOW === undefined ? [] : ["**/*.campaign.test.ts"];

/** Both databases are real: PostgreSQL is started once for a run, unless TEST_POSTGRES_URL names one. */
const globalSetup = ["test/databases/postgres.ts", "test/databases/migrated.ts"];

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    maxWorkers: 4, // of two cores too: many tests wait for processes, sockets and timers
    reporters: ["default", ["json", { outputFile: "node_modules/.cache/test-report.json" }]],
    projects: [
      project("unit", "test/**/*.test.ts", {
        exclude: ["test/databases/**", "test/conformance/**", "**/*.long.test.ts", ...shortForms],
      }),
      project("databases", "test/databases/**/*.test.ts", { globalSetup }),
      project("conformance", "test/conformance/**/*.test.ts", {
        globalSetup,
        exclude: ["**/*.long.test.ts", ...shortForms],
      }),
      // What the projects above run in short, see test/campaign.ts, and what has no short form.
      project("campaigns", "test/**/*.{campaign,long}.test.ts", { globalSetup, env: { TEST_CAMPAIGN: "full" } }),
    ],
  },
});
