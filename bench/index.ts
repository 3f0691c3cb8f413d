/**
 * `npm run bench`: this server beside what a user would pick instead, on this machine, now. Only ratios of one run mean something: each pair is
 * measured in turns, after a warm-up, several times, and the median ratio is given with its spread.
 *
 *     npm run bench                 1,000, 100,000 and 1,000,000 rows
 *     npm run bench -- --quick      the main rows in less than five minutes
 *     npm run bench -- --large      10,000,000 rows too
 *     npm run bench -- --peer NAME=HOST:PORT   one more REST peer that serves the same two addresses
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { GetRepoRequestSchema, ListReposRequestSchema } from "../gen/platform/registry/v2/repos_pb.ts";
import { drawChart } from "./chart.ts";
import { type Data, fill } from "./data.ts";
import type { Job, Measured } from "./load.ts";
import { bareInserts } from "./peers/sqlite.ts";
import { isPinned, start, startLoad, stopAll } from "./processes.ts";

const { values: options } = parseArgs({
  options: { quick: { type: "boolean" }, large: { type: "boolean" }, peer: { type: "string", multiple: true } },
});
const rounds = options.quick ? 3 : 5;
const [warmUpMs, durationMs] = options.quick ? [500, 1500] : [1000, 3000];
const sizes = [1_000, 100_000, ...(options.quick ? [] : [1_000_000]), ...(options.large ? [10_000_000] : [])];
const largest = options.quick ? 1_000_000 : sizes.at(-1)!;

/** One row of the table: ours against a peer. */
interface Row {
  readonly name: string;
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
  readonly ours: Measured;
  readonly peers: Measured;
  /** The least that is accepted and what is aimed at; for a time the most. */
  readonly bar: string;
}

const folder = mkdtempSync(join(tmpdir(), "platform-bench-"));
const load = startLoad();
const rows: Row[] = [];

/** Measures ours and the peer in turns. `by`: rates are better high, times low. */
async function compare(name: string, ours: Job, peer: Job, bar: string, by: "rate" | "time" = "rate"): Promise<void> {
  const pairs: { ours: Measured; peer: Measured }[] = [];
  for (let round = 0; round < rounds; round++) {
    const first = round % 2 === 0;
    const a = await load(first ? ours : peer);
    const b = await load(first ? peer : ours);
    pairs.push(first ? { ours: a, peer: b } : { ours: b, peer: a });
  }
  const ratioOf = (pair: { ours: Measured; peer: Measured }) =>
    by === "rate" ? pair.ours.perSecond / pair.peer.perSecond : pair.ours.medianMs / pair.peer.medianMs;
  pairs.sort((a, b) => ratioOf(a) - ratioOf(b));
  const middle = pairs[Math.floor(pairs.length / 2)]!;
  const row = {
    name,
    ratio: ratioOf(middle),
    lowest: ratioOf(pairs[0]!),
    highest: ratioOf(pairs.at(-1)!),
    ours: middle.ours,
    peers: middle.peer,
    bar,
  };
  rows.push(row);
  print(row);
}

const round2 = (value: number) => Math.round(value * 100) / 100;

function print({ name, ratio, lowest, highest, ours, peers, bar }: Row): void {
  const spread = `${round2(lowest)}–${round2(highest)}`;
  const rate = ({ perSecond, p99Ms }: Measured) => `${Math.round(perSecond)}/s p99 ${round2(p99Ms)} ms`;
  console.log(
    `${name.padEnd(28)} ${String(round2(ratio)).padStart(6)}  ${spread.padEnd(12)} ${bar.padEnd(10)} ${rate(ours).padEnd(26)} ${rate(peers)}`,
  );
}

try {
  console.log(
    `${cpus()[0]?.model}, ${cpus().length} cores, ${isPinned ? "servers on one, load on another" : "not pinned"}, Node ${process.versions.node}`,
  );
  console.log(
    `${"".padEnd(28)} ${"ratio".padStart(6)}  ${"spread".padEnd(12)} ${"bar, aim".padEnd(10)} ${"ours".padEnd(26)} peer`,
  );
  const databases = new Map<number, Data & { administrator: string }>();
  for (const size of new Set([...sizes, largest])) {
    const place = join(folder, String(size));
    mkdirSync(place);
    const made = await start<{ root: string; administrator: string }>("peers/platform.ts", [place, "initialise"], 0);
    databases.set(size, { ...fill(place, made.root, size), administrator: made.administrator });
  }
  const main = databases.get(options.quick ? 100_000 : 100_000)!;
  const serve = (size: number) => {
    const { folder: place, administrator } = databases.get(size)!;
    return start<{ port: number; token: string }>("peers/platform.ts", [place, administrator], 0);
  };
  const ours = await serve(100_000);
  const headers = { authorization: `Bearer ${ours.token}` };
  const peerArgs = [join(main.folder, "peer.db"), main.root, main.repo, ours.token];
  const startPeer = (name: string) => start<{ port: number; http1Port?: number }>(`peers/${name}.ts`, peerArgs, 0);
  const [bare, fastify, grpcJs, connectNode] = await Promise.all(
    ["node-http", "fastify", "grpc-js", "connect-node"].map(startPeer),
  );

  const timing = { concurrency: 32, warmUpMs: warmUpMs!, durationMs: durationMs! };
  const rest = (port: number, path: string, bearer = headers): Job => ({
    ...timing,
    protocol: "http1",
    method: "GET",
    port,
    path,
    headers: bearer,
    body: "",
  });
  const getPath = `/registry/v2/repos/${main.repo}`;
  const listPath = `/registry/v2/repos?uidp.descendants_of=${main.root}`;
  const grpc = (port: number, method: string, message: Uint8Array): Job => {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    return {
      ...timing,
      protocol: "h2",
      method: "POST",
      port,
      path: `/platform.registry.v2.ReposService/${method}`,
      headers: { ...headers, te: "trailers", "content-type": "application/grpc+proto" },
      body: Buffer.concat([prefix, message]).toString("base64"),
    };
  };
  const getMessage = toBinary(GetRepoRequestSchema, create(GetRepoRequestSchema, { uid: main.repo }));
  const listMessage = toBinary(
    ListReposRequestSchema,
    create(ListReposRequestSchema, { uidp: { descendantsOf: main.root } }),
  );
  const connectGet = (port: number): Job => ({
    ...timing,
    protocol: "http1",
    method: "POST",
    port,
    path: "/platform.registry.v2.ReposService/GetRepo",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ uid: main.repo }),
  });

  await compare("rest.get/node-http", rest(ours.port, getPath), rest(bare!.port, getPath), "0.6, 0.8");
  await compare("rest.list50/node-http", rest(ours.port, listPath), rest(bare!.port, listPath), "0.4, 0.6");
  await compare("rest.get/fastify", rest(ours.port, getPath), rest(fastify!.port, getPath), "1.0, 1.2");
  await compare("rest.list50/fastify", rest(ours.port, listPath), rest(fastify!.port, listPath), "0.9, 1.2");
  await compare(
    "grpc.get/grpc-js",
    grpc(ours.port, "GetRepo", getMessage),
    grpc(grpcJs!.port, "GetRepo", getMessage),
    "1.2, 1.5",
  );
  await compare(
    "grpc.list50/grpc-js",
    grpc(ours.port, "ListRepos", listMessage),
    grpc(grpcJs!.port, "ListRepos", listMessage),
    "1.1, 2",
  );
  await compare("connect.get/node-http-post", connectGet(ours.port), connectGet(bare!.port), "0.6, 0.7");
  await compare(
    "grpc.get/connect-node",
    grpc(ours.port, "GetRepo", getMessage),
    grpc(connectNode!.port, "GetRepo", getMessage),
    "5, 10",
  );
  await compare("connect.get/connect-node", connectGet(ours.port), connectGet(connectNode!.http1Port!), "5, 10");
  for (const peer of options.peer ?? []) {
    const [name, address = ""] = peer.split("=");
    const port = Number(address.split(":").at(-1));
    await compare(`rest.get/${name}`, rest(ours.port, getPath), rest(port, getPath), "");
    await compare(`rest.list50/${name}`, rest(ours.port, listPath), rest(port, listPath), "");
  }

  const small = await serve(1_000);
  const big = largest === 100_000 ? ours : await serve(largest);
  const listOf = (size: number, server: { port: number; token: string }, query: string) => ({
    ...rest(server.port, `/registry/v2/repos?${query.replace("ROOT", databases.get(size)!.root)}`, {
      authorization: `Bearer ${server.token}`,
    }),
    concurrency: 1,
  });
  const label = largest === 1_000_000 ? "1m" : `${largest / 1_000_000}m`;
  await compare(
    `rest.list50.${label}/1k.time`,
    listOf(largest, big, "page_size=50"),
    listOf(1_000, small, "page_size=50"),
    "≤2, ≤1.2",
    "time",
  );
  await compare(
    `rest.list50.group.${label}/1k.time`,
    listOf(largest, big, "uidp.descendants_of=ROOT"),
    listOf(1_000, small, "uidp.descendants_of=ROOT"),
    "≤2, ≤1.2",
    "time",
  );

  const creates = {
    ...rest(ours.port, `/registry/v2/repos/${main.root}`),
    method: "POST" as const,
    body: '{"name":"made-{n}"}',
    concurrency: 50,
  };
  const bareRate: Measured[] = [];
  const created: Measured[] = [];
  for (let round = 0; round < rounds; round++) {
    created.push(await load(creates));
    bareRate.push(bareInserts(join(folder, "bare.db"), durationMs!));
  }
  const medianOf = (list: Measured[]) =>
    [...list].sort((a, b) => a.perSecond - b.perSecond)[Math.floor(list.length / 2)]!;
  const ratios = created.map((measured, i) => measured.perSecond / bareRate[i]!.perSecond).sort((a, b) => a - b);
  const createRow = {
    name: "create.50/sqlite-insert",
    ratio: ratios[Math.floor(ratios.length / 2)]!,
    lowest: ratios[0]!,
    highest: ratios.at(-1)!,
    ours: medianOf(created),
    peers: medianOf(bareRate),
    bar: "0.8, 2",
  };
  rows.push(createRow);
  print(createRow);

  const results = {
    date: new Date().toISOString(),
    machine: { model: cpus()[0]?.model, cores: cpus().length, node: process.versions.node, pinned: isPinned },
    ratios: Object.fromEntries(rows.map(({ name, ratio }) => [name, round2(ratio)])),
    rows,
  };
  writeFileSync(new URL("results.json", import.meta.url), `${JSON.stringify(results, undefined, 2)}\n`);
  writeFileSync(new URL("../docs/bench.svg", import.meta.url), drawChart(rows));
} finally {
  stopAll();
  rmSync(folder, { recursive: true, force: true });
}
