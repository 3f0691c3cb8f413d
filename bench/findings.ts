/**
 * Findings: what the questions cost beside a Get, on images that share most of their packages. Each question and a Get
 * are asked in turns, one call at a time, as ratios of their median times.
 */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { FactWriter } from "../src/services/index.ts";
import { openDatabase } from "../src/store/index.ts";
import { fill } from "./data.ts";
import {
  advisoryOf,
  digestOf,
  type FindingsSize,
  fillAdvisories,
  fillImages,
  packageName,
  packagesOf,
} from "./findings-data.ts";
import { besideTenant, makeNeighbour } from "./neighbour.ts";
import { folder } from "./processes.ts";
import { type Program, runCommand, startProgram } from "./program.ts";
import { percentile, printFigure, printHead, round2 } from "./table.ts";

const groupSize = 20;
const rounds = 30;

/** Measures and prints all rows. */
export async function findings(size: FindingsSize): Promise<void> {
  printHead();
  const directory = join(folder, "findings");
  mkdirSync(directory);
  const file = join(directory, "platform.db");
  const database = `sqlite:${file}`;
  const { rootGroupUid: root } = JSON.parse(runCommand(["init", "--json", "--database", database]));
  const repo = await fill(database, join(directory, "peer.db"), root, Math.ceil(size.images / groupSize));
  const program = await startProgram(database, ["--rate-limit-list", "off", "--rate-limit-read", "off"]);
  const repos = await listRepos(program);
  await program.stop();
  const beganMs = performance.now();
  await fillImages(database, repos, size);
  const filledMs = performance.now();
  await fillAdvisories(database, size);
  const seconds = (fromMs: number, toMs: number) => `${Math.round((toMs - fromMs) / 1000)} s`;
  printFigure("images", seconds(beganMs, filledMs), "");
  const databaseSize = `${Math.round(statSync(file).size / 2 ** 20)} MB of database`;
  printFigure("advisories, with all matches", seconds(filledMs, performance.now()), "≤60 s, ≤10 s", databaseSize);
  const server = await startProgram(database, [
    "--rate-limit-list",
    "off",
    "--rate-limit-read",
    "off",
    "--rate-limit-write",
    "off",
  ]);
  const idleMb = server.rssMb();
  const image = `/findings/v1/findings?repo=${repos[1]}&image=${encodeURIComponent(`${repos[1]}@${digestOf(groupSize)}`)}`;
  const queries = Array.from({ length: 1000 }, (_, i) => ({
    purl: `pkg:npm/${packageName(i * 7)}@${1 + (i % 10)}.0.0`,
  }));
  const ofCommonest = `/findings/v1/images?vulnerability_ids=${await commonest(server)}`;
  const rows: [name: string, bars: string, request: Request][] = [
    ["findings of one image/Get", "≤10, ≤5", { path: image }],
    ["images of one vulnerability/Get", "≤20, ≤10", { path: ofCommonest }],
    [
      "QueryPackages of 1000/Get",
      "≤100, ≤60",
      { path: "/findings/v1/packages:query", body: JSON.stringify({ queries }) },
    ],
    ["compare two builds/Get", "≤20, ≤8", { path: comparing([repos[1]!, groupSize], [repos[1]!, groupSize + 1]) }],
    ["compare two programs/Get", "", { path: comparing([repos[1]!, groupSize], [repos[2]!, 2 * groupSize]) }],
    ["all open criticals/Get", "", { path: criticals }],
    ["newest findings/Get", "", { path: newest }],
    ["components/Get", "", { path: "/findings/v1/components" }],
  ];
  for (const [name, bars, request] of rows) await compareWithGet(server, repo, name, bars, request);
  await uploads(server, repo, repos[1]!);
  await feedDay(server, repo, database, size);
  printFigure(
    "memory above idle",
    `${Math.round(server.rssMb() - idleMb)} MB`,
    "≤250, ≤100",
    `idle ${Math.round(idleMb)} MB`,
  );
  const dear = [
    { name: "the images of one vulnerability", path: ofCommonest },
    { name: "all open criticals", path: criticals },
    { name: "the newest findings", path: newest },
  ].map((load) => ({ ...load, port: server.port, token: server.token }));
  await besideTenant({ get: await makeNeighbour(server, database), dear });
  await server.stop();
}

const criticals = "/findings/v1/findings?levels=LEVEL_CRITICAL";
const newest = `/findings/v1/findings?order_by=${encodeURIComponent("first_seen desc")}`;

function comparing(...images: readonly [repo: string, image: number][]): string {
  const [base, target] = images.map(([repo, image]) => `${repo}@${digestOf(image)}`);
  return `/findings/v1/images:compare?base=${base}&target=${target}`;
}

interface Request {
  readonly path: string;
  readonly body?: string;
}

async function call({ port, token }: Program, { path, body }: Request): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body }),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}

async function listRepos(program: Program): Promise<string[]> {
  const found: string[] = [];
  for (let token = ""; ; ) {
    const path = `/registry/v2/repos?page_size=200&page_token=${token}`;
    const { repos, nextPageToken } = (await call(program, { path })) as {
      repos: { uid: string }[];
      nextPageToken?: string;
    };
    found.push(...repos.map(({ uid }) => uid));
    if (nextPageToken === undefined) return found;
    token = encodeURIComponent(nextPageToken);
  }
}

/** The vulnerability that most images have. */
async function commonest(server: Program): Promise<string> {
  const answer = (await call(server, {
    path: `/findings/v1/components?order_by=image_count%20desc&page_size=200`,
  })) as {
    components: { component: { purl: string }; levelCounts?: unknown[] }[];
  };
  const affected = answer.components.find(({ levelCounts = [] }) => levelCounts.length > 0)!;
  const purls = [{ purl: affected.component.purl }];
  const { results } = (await call(server, {
    path: "/findings/v1/packages:query",
    body: JSON.stringify({ queries: purls }),
  })) as {
    results: { findings: { vulnerabilityId: string }[] }[];
  };
  return results[0]!.findings[0]!.vulnerabilityId;
}

async function compareWithGet(
  server: Program,
  repo: string,
  name: string,
  bars: string,
  request: Request | (() => Request),
): Promise<void> {
  const times = { get: [] as number[], asked: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < 10; i++) times.get.push(await timeOf(server, { path: `/registry/v2/repos/${repo}` }));
    times.asked.push(await timeOf(server, typeof request === "function" ? request() : request));
  }
  const [get, asked] = [
    percentile(
      times.get.sort((a, b) => a - b),
      0.5,
    ),
    percentile(
      times.asked.sort((a, b) => a - b),
      0.5,
    ),
  ];
  printFigure(name, round2(asked / get), bars, `${round2(asked)} ms, Get ${round2(get)} ms`);
}

async function timeOf(server: Program, request: Request): Promise<number> {
  const startMs = performance.now();
  await call(server, request);
  return performance.now() - startMs;
}

/** Bills of materials of one image: each has 500 packages, of which a tenth is in no other image. */
async function uploads(server: Program, repo: string, into: string): Promise<void> {
  const digest = digestOf(groupSize);
  const path = `/findings/v1/images/${into}/digests/${digest}/sboms`;
  const shared = packagesOf(groupSize, 450);
  let build = 0;
  await compareWithGet(server, repo, "upload of 500 packages/Get", "≤200, ≤100", () => {
    const own = Array.from({ length: 50 }, (_, i) => ({ name: `own-${build}-${i}`, version: "1.0.0" }));
    build++;
    const components = [...shared, ...own].map(({ name, version }) => ({
      ...{ type: "library", name, version, purl: `pkg:npm/${name}@${version}` },
    }));
    return { path, body: JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1, components }) };
  });
}

/** A day of a feed: 300 advisories change, and every answer is right when their transactions have ended. */
async function feedDay(server: Program, repo: string, url: string, { advisories }: FindingsSize): Promise<void> {
  const changed = 300;
  const database = await openDatabase(url);
  const startMs = performance.now();
  for (let i = 0; i < changed; i += 20)
    await database.transact(async (session) => {
      const writer = new FactWriter(session, Date.now());
      for (let n = i; n < i + 20; n++) await writer.saveAlone("osv", advisoryOf((n * 97) % advisories, 1));
      await writer.settle();
    });
  printFigure("a day of a feed, all answers right", `${round2((performance.now() - startMs) / 1000)} s`, "≤2, ≤0.5");
  await database.close();
  const [get, asked] = [
    await timeOf(server, { path: `/registry/v2/repos/${repo}` }),
    await timeOf(server, { path: criticals }),
  ];
  printFigure("all open criticals, after it/Get", round2(asked / get), "", `${round2(asked)} ms`);
}
