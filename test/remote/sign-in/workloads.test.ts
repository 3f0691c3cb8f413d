/** `platform login --ci` and `--with-token`: tokens that somebody else has got. */
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Code, createPlatformClient } from "../../../src/client/package.ts";
import { grpc } from "../../../src/client-node/package.ts";
import { startIndependentIssuer } from "../../auth/independent-issuer.ts";
import { repository, runPlatform } from "../../cli/platform-process.ts";
import { startWithFolder } from "../server.ts";

const issuer = await startIndependentIssuer("ci", "elsewhere");
afterAll(() => issuer?.close());

describe.skipIf(issuer === undefined)("tokens of workloads", async () => {
  const server = await startWithFolder({ allowLoopbackIssuers: "true" });
  afterAll(() => server.stop());
  let [identity, token] = ["", ""];
  beforeAll(async () => {
    const made = await server.run([
      ...["create", "identity", "--parent", server.root, "--name", "deployer", "-o", "json"],
      ...[
        "--claim-match.issuer",
        issuer!.url,
        "--claim-match.subject",
        "repo:acme/app",
        "--claim-match.audience",
        "ci",
      ],
    ]);
    identity = JSON.parse(made.stdout).uid;
    const role = ["--identity-uid", "deployer", "--role-uid", "editor"];
    expect((await server.run(["create", "role-binding", "--parent", "platform", ...role])).code).toBe(0);
    token = await issuer!.idToken("ci", "repo:acme/app");
  });

  async function worksAs(profile: string): Promise<void> {
    const env = { PLATFORM_TOKEN: "", PLATFORM_PROFILE: profile };
    const who = JSON.parse((await server.run(["whoami", "-o", "json"], env)).stdout);
    expect(who).toMatchObject({ profile, issuer: issuer!.url, identity: { uid: identity, name: "deployer" } });
    expect((await server.run(["create", "repo", "--parent", server.root, "--name", profile], env)).code).toBe(0);
  }

  test("a Kubernetes pod, by its projected service account token", async () => {
    const file = join(server.folder, "projected");
    await writeFile(file, `${token}\n`);
    const env = { PLATFORM_TOKEN: "", PLATFORM_PROFILE: "pod", PLATFORM_ID_TOKEN_FILE: file };
    expect(await server.run(["login", "--ci"], env)).toMatchObject({
      code: 0,
      stderr: "Using the token of Kubernetes\n",
    });
    await worksAs("pod");
  });

  test("a job of GitLab, by the variable of its job", async () => {
    const env = { PLATFORM_TOKEN: "", PLATFORM_PROFILE: "gitlab", GITLAB_CI: "true", PLATFORM_ID_TOKEN: token };
    expect(await server.run(["login", "--ci", "--identity", identity], env)).toMatchObject({ code: 0 });
    await worksAs("gitlab");
  });

  test("a job of GitHub, which asks for its token", async () => {
    const asked: unknown[] = [];
    const github = createServer(({ url, headers }, response) => {
      asked.push([url, headers.authorization]);
      response.end(JSON.stringify({ value: token }));
    }).listen(0, "127.0.0.1");
    await once(github, "listening");
    try {
      const address = `http://127.0.0.1:${(github.address() as AddressInfo).port}/token?job=1`;
      const env = {
        ...{ PLATFORM_TOKEN: "", PLATFORM_PROFILE: "github", GITHUB_ACTIONS: "true" },
        ...{ ACTIONS_ID_TOKEN_REQUEST_URL: address, ACTIONS_ID_TOKEN_REQUEST_TOKEN: "of-the-job" },
      };
      expect(await server.run(["login", "--ci", "--audience", "ci"], env)).toMatchObject({ code: 0 });
      expect(asked).toEqual([["/token?job=1&audience=ci", "Bearer of-the-job"]]);
      await worksAs("github");
    } finally {
      github.close();
    }
  });

  test("a job without a token is told what it lacks", async () => {
    const env = { PLATFORM_TOKEN: "", GITHUB_ACTIONS: "true" };
    expect(await server.run(["login", "--ci"], env)).toMatchObject({
      code: 4,
      stderr: "error: the job has no OpenID token; give it `permissions: id-token: write`\n",
    });
  });

  test("a token from standard input", async () => {
    const env = { ...server.env, PLATFORM_TOKEN: "", PLATFORM_PROFILE: "pasted" };
    expect(await runPlatform(["login", "--with-token"], { env, input: `${token}\n` })).toMatchObject({
      code: 0,
      stderr: "",
    });
    await worksAs("pasted");
  });

  test("the pattern of docs/sign-in.md is for the subjects of GitHub with ids and without, of one repository only", async () => {
    const page = await readFile(join(repository, "docs/sign-in.md"), "utf8");
    const [, pattern = ""] = /--claim-match\.subject-pattern '([^']+)'/.exec(page) ?? [];
    const rule = ["--claim-match.issuer", issuer!.url, "--claim-match.subject-pattern", pattern];
    const create = ["create", "identity", "--parent", "platform", "--name", "github", "--claim-match.audience", "ci"];
    expect(await server.run([...create, ...rule])).toMatchObject({ code: 0 });
    const statusOf = async (subject: string) => {
      const headers = { authorization: `Bearer ${await issuer!.idToken("ci", subject)}` };
      return (await fetch(`${server.server}/sts/exchange`, { method: "POST", headers })).status;
    };
    for (const repo of ["acme/app", "acme@1001/app@2002"])
      expect(await statusOf(`repo:${repo}:ref:refs/heads/main`)).toBe(200);
    for (const other of [
      "acme/app:ref:refs/heads/other",
      "acme@x/app@2002:ref:refs/heads/main",
      "acme-1/app:ref:refs/heads/main",
    ])
      expect(await statusOf(`repo:${other}`)).toBe(401);
  });

  test("a token of the platform itself, which begins no session", async () => {
    const env = { ...server.env, PLATFORM_TOKEN: "", PLATFORM_PROFILE: "own" };
    const { stdout } = await runPlatform(["login", "--with-token"], { env, input: server.env.PLATFORM_TOKEN! });
    expect(stdout).toMatch(/^Signed in to \S+, for 59 minutes\. Profile: own\n$/);
  });

  test("a token that the server does not accept, nor keeps", async () => {
    const env = { ...server.env, PLATFORM_TOKEN: "", PLATFORM_PROFILE: "stranger" };
    const stranger = await issuer!.idToken("ci", "repo:mallory/app");
    const { code, stderr } = await runPlatform(["login", "--with-token"], { env, input: stranger });
    expect(code).toBe(4);
    expect(stderr).toMatch(/does not accept the token of http.*\nhint: an identity .*\nrequest id: \S+\n$/);
    expect(stderr).not.toContain(stranger);
    expect((await server.run(["whoami"], env)).code).toBe(4);
  });

  test("what is wrong with a token whose signature is valid", async () => {
    const fault = "the token is for another audience";
    const wrong = await issuer!.idToken("elsewhere", "repo:acme/app");
    const env = { PLATFORM_TOKEN: "", PLATFORM_PROFILE: "wrong", PLATFORM_ID_TOKEN: wrong };
    const { code, stderr } = await server.run(["login", "--ci"], env);
    expect(code).toBe(4);
    expect(stderr).toMatch(`does not accept the token of ${issuer!.url}: ${fault}\nhint: the token is for elsewhere; `);
    const list = await server.run(["list", "groups"], { PLATFORM_TOKEN: wrong });
    expect(list.stderr).toMatch(`error: Unauthenticated: invalid bearer token: ${fault}\nhint: sign in`);
    for (const transport of [undefined, grpc]) {
      const client = createPlatformClient({ server: server.server, token: wrong, ...(transport && { transport }) });
      const failure = client.groups.list().page();
      await expect(failure).rejects.toMatchObject({ tokenFault: fault, code: Code.Unauthenticated });
    }
  });

  test.each([
    ["nothing", ""],
    ["two words", "two words"],
    ["two lines", "two\nlines"],
    ["another alphabet", "τοκεν"],
    ["8193 characters", "x".repeat(8193)],
  ])("%s is not a token", async (_, text) => {
    const env = { ...server.env, PLATFORM_TOKEN: "" };
    expect(await runPlatform(["login", "--with-token"], { env, input: text })).toMatchObject({
      code: 2,
      stderr: "error: a token has from 1 to 8192 characters of ASCII, without blanks\n",
    });
  });
});
