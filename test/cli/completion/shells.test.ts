/**
 * `platform completion` in interactive shells. Each types a line with a tab in it; what the shell then runs is logged.
 * The server is a stub: names on a real one have no quotes.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { completionScripts } from "../../../src/cli/completion/scripts.ts";
import { startStub } from "../../remote/stub-server.ts";
import { cleanEnvironment } from "../platform-process.ts";
import { programEntry } from "../program.ts";

const oddNames = ["a:b", "c:d e", 'it\'s "$HOME" \\ `id`', "z#!&;|<>()*?[]{}~ =x", "größe"];
const roles = ["viewer", "two words", ...oddNames].map((name, i) => ({ uid: `${i}`.repeat(40), name }));
let server: Awaited<ReturnType<typeof startStub>>;
/** Each completion starts the program. */
const timeout = 180_000;
let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  server = await startStub(({ prefix }) =>
    prefix === undefined
      ? [200, { roles }]
      : [200, { results: roles.filter(({ name }) => name.startsWith(`${prefix}`)) }],
  );
  folder = await mkdtemp(join(tmpdir(), "platform-"));
  await writeFile(join(folder, "some file.yaml"), "");
  const log = '{ printf "<%s>" "$@"; echo; } >>"$LOG"';
  const program = `exec '${process.execPath}' '${programEntry()}' "$@"`;
  await writeFile(join(folder, "platform"), `#!/bin/sh\nif [ "$1" = __complete ]; then ${program}; fi\n${log}\n`, {
    mode: 0o700,
  });
  for (const [shell, script] of Object.entries(completionScripts)) await writeFile(join(folder, `p.${shell}`), script);
  env = {
    ...cleanEnvironment(),
    PLATFORM_SERVER: server.url,
    PLATFORM_COMPLETION_TIMEOUT: "60", // a busy machine can pause
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    HOME: folder,
    LOG: join(folder, "log"),
    LC_ALL: "C.UTF-8",
    TERM: "dumb",
  };
});

afterAll(async () => {
  server.stop();
  await rm(folder, { recursive: true });
});

/** Runs a shell on a terminal. Returns the arguments of each command that it ran. */
async function typeInto(shell: string, lines: readonly string[]): Promise<string[]> {
  await rm(env.LOG!, { force: true });
  const child = spawn("script", ["-qec", shell, "/dev/null"], { cwd: folder, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.end([...lines, "exit", ""].join("\r"));
  const [screen] = await Promise.all([text(child.stdout), once(child, "close")]);
  const log = await readFile(env.LOG!, "utf8").catch(() => `nothing ran:\n${screen}`);
  return log.trimEnd().split("\n");
}

function isMissing(...commands: string[]): boolean {
  const missing = commands.filter((name) => {
    try {
      execFileSync("sh", ["-c", `command -v ${name}`]);
      return false;
    } catch {
      return true;
    }
  });
  if (missing.length > 0) console.warn(`skipped, ${missing.join(" and ")} missing: completion in a shell`);
  return missing.length > 0;
}

/** What is typed, and the arguments that the command gets. */
const typed: readonly (readonly [line: string, args: string])[] = [
  ["platform resou\t", "<resources>"],
  ["platform identitie\t l\t", "<identities><lookup>"],
  ["platform list roles --order\t name", "<list><roles><--order-by><name>"],
  ["platform get role vie\t -o j\t", "<get><role><viewer><-o><json>"],
  ["platform update repo x --catalog-tier app\t", "<update><repo><x><--catalog-tier><application>"],
  ["platform list roles --output=js\t", "<list><roles><--output=json>"],
  ["platform wait repo x --for catalog_tier=ba\t", "<wait><repo><x><--for><catalog_tier=base>"],
  ["platform wait repo x --for catalog_t\tba\t", "<wait><repo><x><--for><catalog_tier=base>"],
  ["platform apply -f some\t", "<apply><-f><some file.yaml>"],
  ["platform get role two\t x", "<get><role><two words><x>"],
  ["platform get role two\\ w\t", "<get><role><two words>"],
  ["platform get role 'two w\t", "<get><role><two words>"],
  ['platform get role "two w\t', "<get><role><two words>"],
  ["platform get role a\t", "<get><role><a:b>"],
  ["platform get role a:\t", "<get><role><a:b>"],
  ["platform get role c:d\\ \t", "<get><role><c:d e>"],
  ["platform get role 'c:\t", "<get><role><c:d e>"],
  ["platform get role it\t x", `<get><role><${oddNames[2]}><x>`],
  ["platform get role 'z\t", `<get><role><${oddNames[3]}>`],
  ["platform get role z\t x", `<get><role><${oddNames[3]}><x>`],
  ["platform get role gr\t", "<get><role><größe>"],
  ["platform get role viewer nosuch\t", "<get><role><viewer><nosuch>"],
];
const [lines, expected] = [typed.map(([line]) => line), typed.map(([, args]) => args)];

test.skipIf(isMissing("script", "bash"))("bash", { timeout }, async () => {
  const ran = await typeInto("bash --norc --noprofile", [
    "bind 'set enable-bracketed-paste off'; set +H; source p.bash",
    ...lines,
  ]);
  expect(ran).toEqual(expected);
});

test.skipIf(isMissing("script", "zsh"))("zsh", { timeout }, async () => {
  const start = "autoload -Uz compinit && compinit -u -D && source p.zsh";
  expect(await typeInto("zsh -f", [start, ...lines])).toEqual(expected);
});

test.skipIf(isMissing("fish"))("fish", { timeout }, async () => {
  const script = `source p.fish
for word in (complete --escape -C "$argv[1]" | string split -f 1 \\t)
    eval "printf '%s\\n' $word"
end`;
  const completions = async (line: string) => {
    const child = spawn("fish", ["--no-config", "-c", script, line], { cwd: folder, env });
    const [found] = await Promise.all([text(child.stdout), once(child, "close")]);
    return found.trimEnd().split("\n");
  };
  expect(await completions("platform resou")).toEqual(["resources"]);
  expect(await completions("platform get role vie")).toEqual(["viewer"]);
  expect(await completions("platform get role 'two w")).toEqual(["two words"]);
  expect(await completions("platform get role c:d\\ ")).toEqual(["c:d e"]);
  expect(await completions("platform get role it")).toEqual([oddNames[2]]);
  expect(await completions("platform apply -f some")).toEqual(["some file.yaml"]);
  expect(await completions("platform list roles --output=js")).toEqual(["--output=json", "--output=jsonpath="]);
});
