/** Profiles and other files that commands read, and the exit statuses where they cannot be used. */
import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../cli/platform-process.ts";
import { runHere } from "../../cli/run-here.ts";

const server = "http://127.0.0.1:9";

/** Writes the profile `default`. Returns its file, and the environment that has it. */
async function profileOf(text: string) {
  const folder = await temporaryFolder();
  const file = join(folder, "platform/profiles/default.json");
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, text, { mode: 0o600 });
  return { file, env: { XDG_CONFIG_HOME: folder } };
}

test("a name that no profile has is an invalid command line", async () => {
  for (const args of [["list", "roles"], ["logout"], ["login", "--with-token"]]) {
    const { code, stderr } = await runHere([...args, "--profile", "../x"]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^error: a profile has a name of/) });
  }
});

test.each(["", "{", '{"a":1}'])("a file that is not a profile: %j", async (text) => {
  const { file, env } = await profileOf(text);
  expect(await runHere(["list", "roles"], { env })).toMatchObject({
    code: 2,
    stderr: `error: ${file} is not a profile; remove it and sign in again\n`,
  });
});

test("a session that has ended is told once, with the status of one who is not authenticated", async () => {
  const { env } = await profileOf(JSON.stringify({ server, token: "x", expireTimeMs: 0 }));
  await writeFile(
    join(env.XDG_CONFIG_HOME, "repos.yaml"),
    ["a", "b", "c"].map((name) => `kind: Repo\nspec: { name: ${name} }\n`).join("---\n"),
  );
  for (const args of [
    ["list", "roles"],
    ["delete", "repo", "a", "b", "--yes"],
    ["apply", "-f", join(env.XDG_CONFIG_HOME, "repos.yaml")],
  ]) {
    const { code, stderr } = await runHere(args, { env });
    expect(code).toBe(4);
    expect(stderr).toMatch(
      /^error: .*the token of profile default is no longer valid; sign in with: platform login\n$/,
    );
  }
});

test.skipIf(process.platform === "win32")("a profile that others may read is theirs no more", async () => {
  const { file, env } = await profileOf(JSON.stringify({ server, token: "x" }));
  for (const mode of [0o644, 0o660, 0o604]) {
    await chmod(file, mode);
    expect((await runHere(["token", "--print"], { env })).stdout).toBe("x\n");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  }
});

test.each([
  [["call", "platform.ping.v2.PingService/Ping", "-d", "@no-such.json"], "--data: cannot read no-such.json: "],
  [["create", "repo", "-f", "no-such.json"], "cannot read no-such.json: "],
  [["apply", "-f", "no-such.json"], "cannot read no-such.json: "],
  [["login", "--ci"], "cannot read the token of the pod (PLATFORM_ID_TOKEN_FILE): "],
])("a file that is not there: %j", async (args, message) => {
  const env = { PLATFORM_SERVER: server, PLATFORM_TOKEN: "x", PLATFORM_ID_TOKEN_FILE: "no-such.json" };
  const { code, stderr } = await runHere(args, { env });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`error: ${message}ENOENT`) });
});

test("GitHub's token service that cannot be reached, or gives none", async () => {
  const run = (ACTIONS_ID_TOKEN_REQUEST_URL: string) =>
    runHere(["login", "--ci"], {
      env: { PLATFORM_SERVER: server, ACTIONS_ID_TOKEN_REQUEST_URL, ACTIONS_ID_TOKEN_REQUEST_TOKEN: "of-the-job" },
    });
  expect(await run(`${server}/token?job=1`)).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(`^error: GitHub gave no token: cannot reach ${server}: \\S.*\n$`),
  });
  expect(await run("nowhere")).toMatchObject({
    code: 4,
    stderr: "error: ACTIONS_ID_TOKEN_REQUEST_URL is not a URL\n",
  });
});
