/** Stand-ins of the server, as a test of a client starts them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { type StandIn, type StandInOptions, startPlatform } from "../../src/testing/index.ts";
import { cleanEnvironment, repository, temporaryFolder } from "../cli/platform-process.ts";
import { runHere } from "../cli/run-here.ts";
import { shortType, startSink } from "../conformance/event-sink.ts";

const documents = `
kind: RoleBinding
parent: team
spec: { identityUid: ci-bot, roleUid: reader }
---
kind: Identity
parent: team
spec:
  name: ci-bot
  claimMatch: { issuer: "https://ci.example.com", subject: "job" }
---
kind: Role
parent: team
spec: { name: reader, capabilities: [CAP_REPO_LIST] }
---
kind: Repo
parent: team
spec: { name: nginx }
---
kind: Repo
parent: team
spec: { name: apache }
---
kind: Group
parent: platform
spec: { name: team }
`;

async function seedFile(text = documents): Promise<string> {
  const path = join(await temporaryFolder(), "seed.yaml");
  writeFileSync(path, text);
  return path;
}

/** What the lists of a stand-in answer. */
async function listsOf({ baseUrl, token }: StandIn): Promise<object> {
  const paths = ["/iam/v2/groups", "/registry/v2/repos", "/iam/v2/roles?uidp.in_root=true", "/iam/v2/roleBindings"];
  const answers = paths.map(async (path) => {
    const response = await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
    expect(response.status).toBe(200);
    return [path, await response.json()];
  });
  return Object.fromEntries(await Promise.all(answers));
}

async function inStandIn<T>(options: StandInOptions, use: (standIn: StandIn) => Promise<T>): Promise<T> {
  await using standIn = await startPlatform(options);
  return await use(standIn);
}

test("a stand-in is started, seeded, asked and stopped", async () => {
  const seed = await seedFile();
  const { baseUrl } = await inStandIn({ seed }, async (standIn) => {
    const lists = await listsOf(standIn);
    expect(lists).toMatchObject({ "/registry/v2/repos": { totalCount: "2" } });
    return standIn;
  });
  await expect(fetch(baseUrl)).rejects.toThrow("fetch failed");
});

test("the same seed, clock and number make the same resources", async () => {
  const options = { seed: await seedFile(), clock: "2026-01-01T00:00:00Z", uidSeed: 7 };
  const lists = await inStandIn(options, listsOf);
  expect(await inStandIn(options, listsOf)).toEqual(lists);
  expect(await inStandIn({ ...options, uidSeed: 8 }, listsOf)).not.toEqual(lists);
  expect(lists).toMatchObject({
    "/registry/v2/repos": {
      repos: ["nginx", "apache"].map((name) => ({ name, createTime: "2026-01-01T00:00:00.000Z" })),
    },
  });
});

test("while the clock stands still, events are delivered to a sink of the test, as of that time", async () => {
  const sink = await startSink();
  onTestFinished(() => sink.close());
  await inStandIn({ clock: "2026-01-01T00:00:00Z" }, async ({ baseUrl, token, rootGroup }) => {
    const post = (path: string, body: object) =>
      fetch(`${baseUrl}${path}/${rootGroup}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    expect((await post("/events/v2/subscriptions", { sink: sink.url("/") })).status).toBe(200);
    expect((await post("/registry/v2/repos", { name: "nginx" })).status).toBe(200);
    await expect.poll(() => sink.received.map(shortType)).toContain("platform.registry.repo.created");
    const created = sink.received.find((event) => shortType(event) === "platform.registry.repo.created");
    expect(created!.headers["ce-time"]).toMatch(/^2026-01-01T00:00:00/);
  });
});

test("nothing is written but the ready file, which only its owner reads", async () => {
  const folder = await temporaryFolder();
  const readyFile = join(folder, "ready.json");
  const before = process.cwd();
  process.chdir(folder);
  try {
    await inStandIn({ args: ["--ready-file", readyFile] }, async ({ stop: _, ...standIn }) => {
      expect(standIn).toMatchObject(JSON.parse(readFileSync(readyFile, "utf8")));
      expect(statSync(readyFile).mode & 0o777).toBe(0o600);
      expect(existsSync(join(folder, "data"))).toBe(false);
    });
  } finally {
    process.chdir(before);
  }
});

test("the ready file is there only while the stand-in is ready", async () => {
  const readyFile = join(await temporaryFolder(), "ready.json");
  const args = ["--ready-file", readyFile];
  writeFileSync(readyFile, "of a stand-in that was killed");
  await expect(startPlatform({ args, seed: await seedFile("kind: Nothing\n") })).rejects.toThrow("Nothing");
  expect(existsSync(readyFile)).toBe(false);
  await inStandIn({ args }, async () => {
    expect(existsSync(readyFile)).toBe(true);
    await inStandIn({ args }, async () => {});
    expect(existsSync(readyFile)).toBe(false);
  });
  await inStandIn({ args }, async () => writeFileSync(readyFile, "of another stand-in"));
  expect(readFileSync(readyFile, "utf8")).toBe("of another stand-in");
});

describe("a stand-in ends with the program that started it", () => {
  const source = new URL("../../src/testing/index.ts", import.meta.url).href;

  test.each<[string, NodeJS.Signals | undefined, string]>([
    ["is killed", "SIGKILL", "setInterval(() => {}, 1000);"],
    ["is stopped by SIGTERM", "SIGTERM", "setInterval(() => {}, 1000);"],
    ["is interrupted", "SIGINT", "setInterval(() => {}, 1000);"],
    ["loses its terminal", "SIGHUP", "setInterval(() => {}, 1000);"],
    ["exits", undefined, "process.exit(3);"],
    ["throws", undefined, "throw new Error();"],
  ])("which %s", async (_, signal, then) => {
    const folder = await temporaryFolder();
    const program = `const { baseUrl } = await (await import(${JSON.stringify(source)})).startPlatform();
      console.log(baseUrl); ${then}`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...cleanEnvironment(), TMPDIR: folder },
    });
    const ended = once(child, "close");
    const [baseUrl] = await once(createInterface({ input: child.stdout }), "line");
    if (signal !== undefined) child.kill(signal);
    await ended;
    await expect.poll(() => fetch(baseUrl).catch((error) => error.message), { timeout: 10_000 }).toBe("fetch failed");
    await expect.poll(() => readdirSync(folder), { timeout: 10_000 }).toEqual([]); // its database
  });

  test("which ends before the stand-in is ready", async () => {
    const args = [join(repository, "bin/platform.js"), "serve", "--ephemeral"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "ignore", "ipc"] });
    child.disconnect();
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

describe("is refused", () => {
  test.each([
    [["--database", "sqlite:./data/platform.db"], "--ephemeral takes no --database but sqlite::memory:"],
    [["--workers", "2"], "--ephemeral takes one process, not 2 (--workers)"],
    [["--clock", "yesterday"], "--clock: must be a time like 2026-01-01T00:00:00Z"],
    [["--uid-seed", "x"], "--uid-seed: must be a number from 0 to 999999999"],
  ])("%j", async (args, message) => {
    await expect(startPlatform({ args })).rejects.toThrow(message);
  });

  test("a seed that cannot be applied, with the document", async () => {
    const seed = await seedFile("kind: Repo\nparent: nowhere\nspec: { name: nginx }\n");
    await expect(startPlatform({ seed })).rejects.toThrow(/seed\.yaml:2: Repo nginx.*nowhere/s);
  });

  test.each(["--seed=x", "--clock=2026-01-01T00:00:00Z", "--uid-seed=1", "--ready-file=x"])(
    "%s without --ephemeral",
    async (flag) => {
      const { code, stderr } = await runHere(["config", "check", flag]);
      expect({ code, stderr: `${stderr}` }).toMatchObject({ code: 2 });
      expect(stderr).toContain(`${flag.split("=")[0]} needs --ephemeral`);
    },
  );
});
