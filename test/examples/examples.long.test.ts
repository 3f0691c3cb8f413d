/** The examples of clients: generated, built and run as their README files say, where their languages are installed. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { repository, runPlatform, settingsIn, startPlatformForTest, temporaryFolder } from "../cli/platform-process.ts";
import { failingFirst } from "./failing-first.ts";

interface Language {
  readonly name: string;
  /** Commands that show whether the language, and the packages from its registry, are installed or can be. */
  readonly needs: readonly string[];
  /** Runs the tour in the folder of the example. */
  readonly tour: string;
}

const python = join(repository, "node_modules/.cache/example-python");

const languages: Language[] = [
  {
    name: "python",
    needs: [`python3 -m venv ${python}`, `${python}/bin/pip install --quiet grpcio-status grpcio-tools setuptools`],
    tour: "python tour.py",
  },
  { name: "go", needs: ["protoc --version", "cd examples/go && go mod download"], tour: "go run ." },
  {
    name: "java",
    needs: ["javac -version", "cd examples/java && mvn --batch-mode --quiet dependency:go-offline"],
    tour: "mvn --batch-mode --quiet exec:java",
  },
];

/** What every tour prints. */
const printed = `ping: pong
created: 3
listed: one, three, two
got: First
updated: Second
stale etag: ABORTED
  reason: ABORTED
wrong name: INVALID_ARGUMENT
  reason: INVALID_ARGUMENT
  field name: name must match "^[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*)*$"
wrong token: UNAUTHENTICATED
  reason: UNAUTHENTICATED
deleted: 3
gone: NOT_FOUND
  reason: NOT_FOUND
  resource: registry.platform.internal/Repo
`;

const environment = {
  ...process.env,
  VIRTUAL_ENV: python,
  PATH: `${python}/bin:${process.env.PATH}:/usr/local/go/bin`, // where Go's own installer puts it
  PLATFORM: `${process.execPath} ${join(repository, "src/main.ts")}`,
};

/** Runs a command of the shell to its end, and returns what it prints. Errors: it failed. */
async function shell(command: string, cwd: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  return (await promisify(execFile)("sh", ["-c", command], { cwd, env: { ...environment, ...env } })).stdout;
}

/** Copies an example without what was generated in it. */
async function copyOf(name: string): Promise<string> {
  const source = join(repository, "examples", name);
  const ignored = readFileSync(join(source, ".gitignore"), "utf8").split("\n");
  const copy = join(await temporaryFolder(), name);
  await cp(source, copy, { recursive: true, filter: (path) => !ignored.includes(`${basename(path)}/`) });
  return copy;
}

test.for(languages)(
  "$name: the tour, with calls that fail at first",
  { timeout: 600_000 },
  async (language, context) => {
    for (const command of language.needs) {
      try {
        await shell(command, repository);
      } catch (error) {
        console.log(`skipped, the example of ${language.name} cannot be built here: ${(error as Error).message}`);
        return context.skip();
      }
    }
    const folder = await copyOf(language.name);
    await shell("./generate.sh", folder);

    const settings = settingsIn(await temporaryFolder());
    const server = await startPlatformForTest(settings.serve);
    const token = (await runPlatform(["token", ...settings.database])).stdout.trim();
    const proxy = await failingFirst(server.baseUrl, (path) => path.endsWith("/CreateRepo"));
    const output = await shell(language.tour, folder, { PLATFORM_SERVER: proxy.baseUrl, PLATFORM_TOKEN: token });
    expect(output.replaceAll("\x1b[0m", "")).toBe(printed);
    expect([...proxy.failed].map((path) => path.split("/")[2]).sort()).toEqual(
      ["CreateRepo", "DeleteRepo", "GetRepo", "ListGroups", "ListRepos", "Ping", "UpdateRepo"].sort(),
    );
  },
);
