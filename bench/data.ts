/**
 * The data of a benchmark: a root group, groups below it (10,000, or a tenth of the rows if that is fewer), and repos
 * spread over them. The platform initialises its own database. Groups and repos are written directly into its tables,
 * because a million calls would take longer than the benchmark. Peers have the same repos in a table of plain columns.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { GroupSchema, OrgStatus } from "../gen/platform/iam/v2/groups_pb.ts";
import { RepoSchema } from "../gen/platform/registry/v2/repos_pb.ts";
import { AdvisorySchema } from "../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { newUid } from "../src/new-uid.ts";
import { contentOf, newRow } from "../src/resource/row-mapping.ts";
import { advisories } from "../src/services/vulnerabilities/advisories.ts";
import { openDatabase } from "../src/store/index.ts";
import { pack } from "../src/store/rows/packed.ts";
import { type Filling, openPostgres, openSqlite } from "./filling.ts";

const maxGroups = 10_000;
const description = "What is in this repository, in a sentence";

/** The schema of the peers' database. */
export const peerSchema = `
  create table repos (uid text primary key, parent text not null, name text not null, description text not null,
    create_time_us integer not null, update_time_us integer not null) without rowid;
  create table counts (parent text primary key, count integer not null) without rowid;`;

/** Fills the initialised database at `url`, and creates that of the peers in a file. Returns the uid of one repo. */
export async function fill(url: string, peerFile: string, root: string, size: number): Promise<string> {
  const groups = Array.from({ length: Math.max(1, Math.min(maxGroups, size / 10)) }, () => newUid(root));
  const repos = Array.from({ length: size }, (_, i) => newUid(groups[i % groups.length]!)).sort();
  const nowUs = Date.now() * 1000;
  const ours = url.startsWith("sqlite:") ? openSqlite(url.slice("sqlite:".length)) : await openPostgres(url);
  await fillOurs(ours, root, groups, repos, nowUs);

  const peer = openSqlite(peerFile, peerSchema);
  const columns = ["uid", "parent", "name", "description", "create_time_us", "update_time_us"];
  await peer.insert(
    "repos",
    columns,
    repos.values().map((uid, i) => [uid, parentOf(uid), `repo-${i}`, description, nowUs, nowUs]),
  );
  await peer.insert("counts", ["parent", "count"], [[root, size]].values());
  await peer.close();
  return repos[Math.floor(size / 2)]!;
}

async function fillOurs(
  ours: Filling,
  root: string,
  groups: readonly string[],
  repos: readonly string[],
  nowUs: number,
): Promise<void> {
  const columns = ["uid", "parent", "version", "create_time_us", "update_time_us", "packed", "name"];
  const baseValues = (uid: string, body: Uint8Array) => {
    const packed = pack({ uid, version: 1, createTimeUs: nowUs, updateTimeUs: nowUs, body });
    return [uid, parentOf(uid), 1, nowUs, nowUs, packed];
  };
  await ours.insert(
    "groups",
    [...columns, "verified"],
    groups.values().map((uid, i) => {
      const message = create(GroupSchema, { name: `group-${i}`, status: OrgStatus.READY });
      return [...baseValues(uid, toBinary(GroupSchema, message)), message.name, 0];
    }),
  );
  await ours.insert(
    "repos",
    columns,
    repos.values().map((uid, i) => {
      const message = create(RepoSchema, { name: `repo-${i}`, description });
      return [...baseValues(uid, toBinary(RepoSchema, message)), message.name];
    }),
  );
  const reposOf = new Map<string, number>();
  for (const uid of repos) reposOf.set(parentOf(uid), (reposOf.get(parentOf(uid)) ?? 0) + 1);
  const counts = [
    ["", "groups", "below", groups.length],
    [root, "groups", "below", groups.length],
    [root, "groups", "children", groups.length],
    ["", "repos", "below", repos.length],
    [root, "repos", "below", repos.length],
    ...[...reposOf].flatMap(([uid, count]) => ["below", "children"].map((kind) => [uid, "repos", kind, count])),
  ] as const;
  await ours.insert(
    "counters",
    ["ancestor", "table_name", "class", "slot", "count"],
    counts.values().map(([ancestor, table, kind, count]) => [ancestor!, table!, kind!, 0, count!]),
    "on conflict (ancestor, table_name, class, slot) do update set count = counters.count + excluded.count",
  );
  await ours.close();
}

const parentOf = (uid: string) => uid.slice(0, uid.lastIndexOf("/"));

const words = [
  "lib",
  "open",
  "ssl",
  "curl",
  "py",
  "node",
  "go",
  "rust",
  "java",
  "server",
  "client",
  "proxy",
  "core",
  "kube",
];
const word = (i: number) => words[i % words.length]!;
const packageName = (i: number) => `${word(i)}${word(i >> 4)}-${word(i * 7)}-${i % 997}`;
const advisoriesPerTransaction = 2000;

/** Adds advisories to `root`, each with the aliases of a CVE and of GHSA. */
export async function fillAdvisories(url: string, root: string, count: number): Promise<void> {
  const database = await openDatabase(url);
  for (let i = 0; i < count; ) {
    await database.transact(async (session) => {
      for (const end = Math.min(count, i + advisoriesPerTransaction); i < end; i++) {
        const message = create(AdvisorySchema, {
          advisoryId: `ADV-${String(i).padStart(7, "0")}`,
          artifactName: packageName(i % 5000),
          componentName: packageName((i * 13) % 9000),
          aliases: [`CVE-${2015 + (i % 11)}-${i % 60_000}`, `GHSA-${((i * 2_654_435_761) % 2 ** 32).toString(36)}`],
        });
        const timeMs = 1_700_000_000_000 + (i % 100_000) * 1000;
        await session.insert(advisories.table, newRow(newUid(root), root, timeMs, contentOf(advisories, message)));
      }
    });
  }
  await database.close();
}
