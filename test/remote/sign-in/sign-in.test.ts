/** `platform login`, `logout`, `whoami` and `token --print`, with an OpenID provider that nobody here wrote. */
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { userIdentityUid } from "../../../src/new-uid.ts";
import { runPlatform, startCommand } from "../../cli/platform-process.ts";
import { runHere } from "../../cli/run-here.ts";
import { startWithFolder } from "../server.ts";
import { startForeign } from "../stub-server.ts";
import { browse } from "./browser.ts";
import { startOpenIdProvider } from "./openid-provider.ts";

const provider = await startOpenIdProvider();
afterAll(() => provider?.close());

describe.skipIf(provider === undefined)("with an OpenID provider", async () => {
  const issuer = provider!.url;
  const server = await startWithFolder({ allowLoopbackIssuers: "true" });
  afterAll(() => server.stop());
  await server.run([
    ...["create", "identity-provider", "--parent", "platform", "--name", "login"],
    ...["--default-role", "viewer", "--oidc.issuer", issuer, "--oidc.client-id", "platform"],
    ...["--oidc.client-secret", "s"],
  ]);
  const login = ["login", "--issuer", issuer, "--client-id", "platform"];

  /** The environment of a user without a token, whose browser signs in. */
  async function userOf(name: string, profile = name, { folder } = server) {
    const [browser, page] = [join(folder, `browser-${name}`), join(folder, `page-${name}`)];
    const program = join(import.meta.dirname, "browser.ts");
    await writeFile(browser, `#!/bin/sh\nexec '${process.execPath}' '${program}' '${page}' ${name} "$1"\n`);
    await chmod(browser, 0o755);
    const env = { PLATFORM_TOKEN: "", BROWSER: browser, ...(profile && { PLATFORM_PROFILE: profile }) };
    const file = join(folder, "configuration/platform/profiles", `${profile || "default"}.json`);
    return {
      env,
      page: () => vi.waitFor(() => readFile(page, "utf8"), 10_000),
      file,
      profile: async () => JSON.parse(await readFile(file, "utf8")),
    };
  }

  test("signs in with the browser, is known, and signs out", async () => {
    const { env, page, file, profile } = await userOf("alice", "");
    const signedIn = await server.run(login, env);
    expect(signedIn).toMatchObject({
      code: 0,
      stdout: `Signed in to ${server.env.PLATFORM_SERVER}. Profile: default\n`,
    });
    expect(signedIn.stderr).toMatch(/^The browser opens this page:\n\n {2}http.*code_challenge_method=S256/);
    expect(await page()).toContain("You are signed in");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(file, ".."))).mode & 0o777).toBe(0o700);

    const who = await server.run(["whoami", "-o", "json"], env);
    expect(JSON.parse(who.stdout)).toMatchObject({
      profile: "default",
      issuer,
      identity: { uid: userIdentityUid(issuer, "alice") },
      organisations: [{ uid: server.root }],
      roles: [{ role: { name: "viewer" }, group: { uid: server.root } }],
    });
    expect((await server.run(["whoami"], env)).stdout).toContain("roles          viewer (");
    expect((await server.run(["list", "groups", "-o", "name"], env)).stdout).toBe(`group/${server.root}\n`);

    const { token, refreshToken } = await profile();
    expect((await server.run(["token", "--print"], env)).stdout).toBe(`${token}\n`);
    expect(await server.run(["logout"], env)).toEqual({
      code: 0,
      stdout: `Signed out of ${server.server}. Its access token is valid for another 59 minutes\n`,
      stderr: "",
    });
    await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
    const refresh = await fetch(`${server.env.PLATFORM_SERVER}/sts/exchange_refresh_token`, {
      method: "POST",
      body: new URLSearchParams({ refresh_token: refreshToken }),
    });
    expect(refresh.status).toBe(401);
    expect(await server.run(["whoami"], env)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("nobody is signed in"),
    });
    expect((await server.run(["list", "groups"], env)).stderr).toContain("sign in with `platform login`");
  });

  test("renews an expired token once, though several commands need it", async () => {
    const { env, file, profile } = await userOf("bob");
    await server.run(login, env);
    const before = await profile();
    await writeFile(file, JSON.stringify({ ...before, expireTimeMs: Date.now() + 1000 }));
    const commands = Array.from({ length: 4 }, () =>
      runPlatform(["list", "groups", "-o", "name"], { env: { ...server.env, ...env } }),
    );
    for (const { code, stderr } of await Promise.all(commands))
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const after = await profile();
    expect(after.expireTimeMs).toBeGreaterThan(Date.now() + 3_000_000);
    expect(after.refreshToken).not.toBe(before.refreshToken);
    expect(after.provider).toMatchObject({ issuer, clientId: "platform", scope: "openid email profile" });
  });

  test("remembers the provider, and ends the session before", async () => {
    const { env, profile } = await userOf("carol");
    await server.run(login, env);
    const before = await profile();
    expect((await server.run(["login"], env)).code).toBe(0);
    expect((await profile()).refreshToken).not.toBe(before.refreshToken);
    const refresh = await fetch(`${server.env.PLATFORM_SERVER}/sts/exchange_refresh_token`, {
      method: "POST",
      body: new URLSearchParams({ refresh_token: before.refreshToken }),
    });
    expect(refresh.status).toBe(401);
  });

  test("sends the identity provider that was named once, until another one is", async () => {
    const shared = await startWithFolder({ allowLoopbackIssuers: "true" });
    onTestFinished(() => shared.stop());
    const { env, profile } = await userOf("ivan", "ivan", shared);
    const json = async (...args: string[]) => JSON.parse((await shared.run([...args, "-o", "json"])).stdout);
    const oidc = ["--oidc.issuer", issuer, "--oidc.client-id", "platform", "--oidc.pkce-enabled"];
    const providers: string[] = [];
    for (const name of ["acme", "bolt"]) {
      const { uid } = await json("create", "group", "--name", name);
      const provide = ["create", "identity-provider", "--parent", uid, "--name", name, "--default-role", "viewer"];
      providers.push((await json(...provide, ...oidc)).uid);
    }
    const seen = async (...args: string[]) => {
      expect(await shared.run(["login", ...args], env)).toMatchObject({ code: 0 });
      return (await profile()).provider.identityProvider;
    };
    const groups = async () => (await shared.run(["list", "groups", "-o", "name"], env)).stdout;
    for (const uid of providers.toSorted().reverse()) {
      expect(await seen(...login.slice(1), "--identity-provider", uid)).toBe(uid);
      expect(await seen()).toBe(uid);
      expect(await seen("--scope", "openid")).toBe(uid);
      expect(await groups()).toBe(`group/${uid.split("/")[0]}\n`);
    }
    const last = providers.toSorted()[0]!;
    expect(await shared.run(["delete", "identity-provider", last, "--yes"])).toMatchObject({ code: 0 });
    expect(await shared.run(["login"], env)).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(
        `hint: the identity provider ${last} does not let this user in; --identity-provider`,
      ),
    });
  });

  test("signs out when the token has expired", async () => {
    const { env, file, profile } = await userOf("heidi");
    await server.run(login, env);
    await writeFile(file, JSON.stringify({ ...(await profile()), expireTimeMs: Date.now() - 1000 }));
    expect((await server.run(["logout"], env)).stdout).toBe(`Signed out of ${server.server}\n`);
  });

  test("tells that a session has ended", async () => {
    const { env, file, profile } = await userOf("dave");
    await server.run(login, env);
    await writeFile(file, JSON.stringify({ ...(await profile()), expireTimeMs: 0, refreshToken: "x" }));
    expect(await server.run(["list", "groups"], env)).toMatchObject({
      code: 4,
      stderr: "error: the session of profile dave has ended; sign in with: platform login\n",
    });
  });

  test("tells that the user has cancelled", async () => {
    const { env, page } = await userOf("nobody");
    const outcome = await server.run(login, env);
    expect(outcome.code).toBe(4);
    expect(outcome.stderr).toContain(
      `error: signing in with ${issuer} failed: End-User aborted interaction (access_denied)`,
    );
    expect(await page()).toContain("You are not signed in");
  });

  test("signs in with a browser on another machine", async () => {
    const { env } = await userOf("frank");
    const process = startCommand([...login, "--device"], { env: { ...server.env, ...env } });
    const [, page, code] = await process.printed(/Open (\S+) on any machine and enter the code\n\n {2}(\S+)\n/);
    expect(page).toBe(`${issuer}/device`);
    const last = await browse(`${page}?user_code=${code}`, "frank");
    expect(last.text).toContain("Sign-in Success");
    expect(await process.ended).toMatchObject({ code: 0, stdout: expect.stringContaining("Profile: frank") });
    const who = await server.run(["whoami", "-o", "json"], env);
    expect(JSON.parse(who.stdout).identity.uid).toBe(userIdentityUid(issuer, "frank"));
  });

  test("a profile is used for its own server only", async () => {
    const { env } = await userOf("erin");
    await server.run(login, env);
    expect(await server.run(["list", "groups"], { ...env, PLATFORM_SERVER: "http://127.0.0.1:9" })).toMatchObject({
      code: 4,
      stderr: "error: profile erin is not signed in to http://127.0.0.1:9; use: platform login\n",
    });
  });

  test("an address that is not the answer to this sign-in is not found", async () => {
    const { env } = await userOf("grace");
    const process = startCommand([...login, "--no-browser"], { env: { ...server.env, ...env } });
    const [, url] = await process.printed(/on this machine:\n\n {2}(\S+)\n/);
    const redirect = new URL(url!).searchParams.get("redirect_uri")!;
    const foreign = await fetch(`${redirect}?code=x&state=y`);
    expect([foreign.status, foreign.headers.get("content-security-policy")]).toEqual([
      404,
      expect.stringMatching(/^default-src 'none'; style-src 'sha256-/),
    ]);
    expect(await browse(url!, "grace")).toMatchObject({ httpStatus: 200 });
    expect(await process.ended).toMatchObject({ code: 0 });
  });
});

test.each(["--identity", "--identity-provider"])(
  "%s must be a uid: names are not looked up before a sign-in",
  async (option) => {
    const { code, stderr } = await runHere(["login", "--with-token", option, "login"]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("It must be a uid.") });
  },
);

test("who has to name an identity provider is told how", async () => {
  const message = "Precondition failed: several identity providers accept the token; name one";
  const stub = await startForeign(400, "application/json", JSON.stringify({ code: 9, message, details: [] }));
  onTestFinished(() => stub.stop());
  const env = { PLATFORM_SERVER: stub.url, XDG_CONFIG_HOME: "/nonexistent", PLATFORM_ID_TOKEN: "a.b.c" };
  expect(await runHere(["login", "--ci"], { env })).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(/does not accept the token: .*; name one\nhint: --identity-provider UID names/),
  });
});

test("a provider without the device flow is told", async () => {
  const plain = await startOpenIdProvider({ hasDeviceFlow: false });
  if (plain === undefined) return;
  onTestFinished(() => plain.close());
  const env = { PLATFORM_SERVER: "http://127.0.0.1:9", XDG_CONFIG_HOME: "/nonexistent" };
  const outcome = await runHere(["login", "--device", "--issuer", plain.url, "--client-id", "platform"], { env });
  expect(outcome).toMatchObject({
    code: 1,
    stderr: `error: ${plain.url} does not offer the device flow; leave out --device\n`,
  });
});

test.each([
  [["login"], "--issuer and --client-id name the OpenID provider of your organisation"],
  [["login", "--issuer", "http://login.example", "--client-id", "x"], "--issuer must be an https URL"],
  [["login", "--issuer", "http://127.0.0.1:9", "--client-id", "x"], "signing in with http://127.0.0.1:9 failed"],
  [["login", "--issuer", "https://127.0.0.1:1", "--client-id", "x"], "failed: HTTP clients do not use this port"],
  [["login", "--profile", "../x"], "a profile has a name of letters"],
  [["login", "--redirect-port", "65536"], "It must be a whole number from 0 to 65535."],
  [["login", "--ci"], "there is no token of a CI system"],
  [["login", "--ci", "--device"], "cannot be used with"],
])("%j is refused: %s", async (args, message) => {
  const env = { PLATFORM_SERVER: "http://127.0.0.1:9", XDG_CONFIG_HOME: "/nonexistent" };
  const { code, stderr } = await runHere(args, { env });
  expect(code).not.toBe(0);
  expect(stderr).toContain(message);
});
