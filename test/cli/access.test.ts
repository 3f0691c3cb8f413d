/** `platform access`: who can do what, read from the database beside a server. */
import { expect, test } from "vitest";
import { settingsIn, startPlatformForTest, temporaryFolder } from "./platform-process.ts";
import { restClient } from "./rest-client.ts";
import { runHere } from "./run-here.ts";

test("explain prints the path of grants or what is missing, list who has which role", async () => {
  const { database, serve } = settingsIn(await temporaryFolder());
  const {
    rootGroupUid: root,
    identityUid,
    token,
  } = JSON.parse((await runHere(["init", "--json", ...database])).stdout);
  const rest = restClient((await startPlatformForTest(serve)).baseUrl, token);
  const folder = (await rest.post(`/iam/v2/groups/${root}`, { name: "team-a" })).body.uid;
  const claimMatch = { issuer: "https://ci.example.com", subject: "build" };
  const bot = (await rest.post(`/iam/v2/identities/${root}`, { name: "build-bot", claimMatch })).body.uid;
  const role = (await rest.get("/iam/v2/roles?name=viewer")).body.roles[0].uid;
  const binding = (await rest.post(`/iam/v2/roleBindings/${root}`, { identityUid: bot, roleUid: role })).body.uid;
  async function print(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runHere(["access", ...args, ...database]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  }
  const explain = (capability: string, ...more: string[]) =>
    print("explain", "--identity", bot, "--scope", folder, "--capability", capability, ...more);

  expect(await explain("repo.list")).toBe(
    [
      "allowed",
      `  identity    build-bot (${bot})`,
      "  capability  CAP_REPO_LIST",
      `  scope       team-a (${folder})`,
      "",
      "grants that allow it",
      `  role binding ${binding} (counts: yes)`,
      `     └─ role viewer (${role})`,
      `        └─ at platform (${root})`,
      `           └─ contains team-a (${folder})`,
      "",
    ].join("\n"),
  );
  expect(JSON.parse(await explain("CAP_REPO_LIST", "--json"))).toMatchObject({
    verdict: "VERDICT_ALLOWED",
    grants: [{ binding, inherited: true }],
  });

  const denied = await explain("repo.create");
  expect(denied).toMatch(/^denied\n/);
  expect(denied).toContain("missing\n  1 grant of the identity for the scope: none has CAP_REPO_CREATE.\n");
  expect(denied).toContain(`  role viewer (${role}) at platform (${root}), by role binding ${binding} (counts: yes)`);
  expect(denied).toMatch(/roles with the capability that can be bound at the scope\n(?: {2}.*\n)* {2}editor \(/);

  const rows = async (...args: string[]) =>
    (await print("list", ...args))
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/));
  const heading = ["NAME", "ROLE", "GROUP", "FROM", "INHERITED", "IDENTITY", "ORIGIN", "COUNTS"];
  const ofBot = ["build-bot", "viewer", "platform", "role binding"];
  const admin = ["administrator", "platform.admin", "everywhere", "administrator", "yes", identityUid];
  expect(await rows("--scope", folder)).toEqual([
    heading,
    ...[
      [...ofBot, "yes", bot, binding, "yes"],
      [...admin, expect.stringContaining(root), "yes"],
    ].sort(([, , , , , a = ""], [, , , , , b = ""]) => (a < b ? -1 : 1)),
  ]);
  expect(await rows("--identity", bot)).toEqual([heading, [...ofBot, "no", bot, binding, "yes"]]);
  expect(JSON.parse(await print("list", "--identity", bot, "--json"))).toMatchObject({
    binding,
    identity: { uid: bot, name: "build-bot" },
  });
});

test("what cannot be asked is refused in one line", async () => {
  const { database } = settingsIn(await temporaryFolder());
  await runHere(["init", ...database]);
  const nowhere = "1".repeat(40);
  for (const [args, code, message] of [
    [["list"], 2, "error: --scope or --identity is needed\n"],
    [["list", "--scope", "x"], 2, "error: option '--scope <UID>' argument 'x' is invalid. It must be a uid.\n"],
    [
      ["explain", "--capability", "repo.lst"],
      2,
      "error: option '--capability <NAME>' argument 'repo.lst' is invalid. There is no such capability; did you mean repo.list?\n",
    ],
    [["explain"], 2, "error: required option '--identity <UID>' not specified\n"],
    [["list", "--scope", nowhere], 1, `error: --scope: there is no root group ${nowhere}\n`],
  ] as const)
    expect(await runHere(["access", ...args, ...database])).toEqual({ code, stdout: "", stderr: message });
});
