/** Tokens that cannot be sent, and passwords in addresses: they are refused, and not printed. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runPlatform, temporaryFolder } from "../../cli/platform-process.ts";
import { runHere } from "../../cli/run-here.ts";

/** Nothing answers here: a command that calls it ends with status 6. */
const server = "http://127.0.0.1:9";
const refusal = "error: the access token is empty, or has blanks or characters that are not of ASCII; nothing was sent";

test.each([
  ["list", "roles"],
  ["get", "role", "viewer"],
  ["delete", "repo", "a"],
  ["whoami"],
  ["token", "--print"],
  ["contract", "check"],
  ["call", "platform.ping.v2.PingService/Ping"],
])("%s %s", async (...args) => {
  const given = [{ PLATFORM_TOKEN: "secret\nvalue" }, {}];
  for (const [index, variables] of given.entries()) {
    const option = index === 0 ? [] : ["--token", "secret value"];
    const { code, stdout, stderr } = await runHere([...args, ...option], {
      env: { PLATFORM_SERVER: server, XDG_CONFIG_HOME: "/nonexistent", ...variables },
    });
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toContain("has blanks or characters that are not of ASCII");
    expect(stderr).not.toMatch(/secret|value/);
  }
});

test("the token of a profile", async () => {
  const folder = await temporaryFolder();
  const profiles = join(folder, "platform/profiles");
  await mkdir(profiles, { recursive: true });
  await writeFile(join(profiles, "default.json"), JSON.stringify({ server, token: "secret\nvalue" }), { mode: 0o600 });
  const { code, stderr } = await runHere(["list", "roles"], { env: { XDG_CONFIG_HOME: folder } });
  expect(code).toBe(4);
  expect(stderr).toMatch(refusal);
  expect(stderr).not.toContain("secret");
});

test("the token of a CI system, and what it is asked for with", async () => {
  for (const variables of [
    { PLATFORM_ID_TOKEN: "secret\nvalue" },
    { ACTIONS_ID_TOKEN_REQUEST_URL: "http://127.0.0.1:9/", ACTIONS_ID_TOKEN_REQUEST_TOKEN: "secret\nvalue" },
  ]) {
    const env = { PLATFORM_SERVER: server, XDG_CONFIG_HOME: "/nonexistent", ...variables };
    const { code, stderr } = await runHere(["login", "--ci"], { env });
    expect([2, 4]).toContain(code);
    expect(stderr).toMatch(
      /^(Using the token of GitLab CI\/CD\n)?error: (a token has|ACTIONS_ID_TOKEN_REQUEST_TOKEN is)/,
    );
    expect(stderr).not.toContain("secret");
  }
});

test("the token of standard input", async () => {
  const env = { PLATFORM_SERVER: server, XDG_CONFIG_HOME: "/nonexistent" };
  const { code, stderr } = await runPlatform(["login", "--with-token"], { env, input: "secret\nvalue\n" });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "error: a token has from 1 to 8192 characters of ASCII, without blanks\n",
  });
});

test.each(["http://user:secret@127.0.0.1:9", "ftp://user:secret@127.0.0.1", "user:secret@127.0.0.1"])(
  "%s",
  async (address) => {
    const env = { PLATFORM_SERVER: address, XDG_CONFIG_HOME: "/nonexistent" };
    expect(await runHere(["list", "roles"], { env })).toMatchObject({
      code: 2,
      stderr: "error: --server must be a URL without a user or a password\n",
    });
  },
);
