/**
 * The data that is measured on: a root group, groups below it (10,000, or a tenth of the rows where that is fewer), and repos spread over them.
 * The platform's own database is made by the platform, and its repos written straight into the table, because a million calls would take longer
 * than the measurement. Peers have the same repos in a table of plain columns.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { create, toBinary } from "@bufbuild/protobuf";
import { GroupSchema, OrgStatus } from "../gen/platform/iam/v2/groups_pb.ts";
import { RepoSchema } from "../gen/platform/registry/v2/repos_pb.ts";
import { newUid } from "../src/uid.ts";

/** Where the data is, and one repo of it. */
export interface Data {
  readonly folder: string;
  readonly root: string;
  readonly repo: string;
}

const maxGroups = 10_000;

/** What peers ask their database. */
export const peerSchema = `
  create table repos (uid text primary key, parent text not null, name text not null, description text not null,
    create_time_us integer not null, update_time_us integer not null) without rowid;
  create table counts (parent text primary key, count integer not null) without rowid;`;

/** Fills the initialised database in `folder`, and makes that of the peers beside it. */
export function fill(folder: string, root: string, rows: number): Data {
  const ours = openFast(join(folder, "platform.db"));
  rmSync(join(folder, "peer.db"), { force: true });
  const peer = openFast(join(folder, "peer.db"));
  peer.exec(peerSchema);
  const groups = Array.from({ length: Math.max(1, Math.min(maxGroups, rows / 10)) }, () => newUid(root));
  const nowUs = Date.now() * 1000;
  const row = (table: string) =>
    ours.prepare(
      `insert into ${table} (uid, parent, version, create_time_us, update_time_us, body, name) values (?, ?, 1, ?, ?, ?, ?)`,
    );
  const group = ours.prepare(
    "insert into groups (uid, parent, version, create_time_us, update_time_us, body, name, verified) values (?, ?, 1, ?, ?, ?, ?, 0)",
  );
  const insert = row("repos");
  const insertPeer = peer.prepare("insert into repos values (?, ?, ?, ?, ?, ?)");
  for (const [i, uid] of groups.entries()) {
    const message = create(GroupSchema, { name: `group-${i}`, status: OrgStatus.READY });
    group.run(uid, root, nowUs, nowUs, toBinary(GroupSchema, message), message.name);
  }
  const repos = Array.from({ length: rows }, (_, i) => ({ uid: newUid(groups[i % groups.length]!), i }));
  repos.sort((a, b) => (a.uid < b.uid ? -1 : 1));
  for (const { uid, i } of repos) {
    const message = create(RepoSchema, { name: `repo-${i}`, description: "What is in this repository, in a sentence" });
    const parent = uid.slice(0, uid.lastIndexOf("/"));
    insert.run(uid, parent, nowUs, nowUs, toBinary(RepoSchema, message), message.name);
    insertPeer.run(uid, parent, message.name, message.description, nowUs, nowUs);
  }
  const count = (values: string) =>
    ours.exec(`insert into counters (ancestor, table_name, class, slot, count) ${values}
      on conflict (ancestor, table_name, class, slot) do update set count = counters.count + excluded.count`);
  count(`select parent, 'repos', 'children', 0, count(*) from repos where true group by parent`);
  count(`select parent, 'repos', 'below', 0, count(*) from repos where true group by parent`);
  count(`values ('', 'repos', 'below', 0, ${rows}), ('${root}', 'repos', 'below', 0, ${rows})`);
  count(`values ('', 'groups', 'below', 0, ${groups.length}), ('${root}', 'groups', 'below', 0, ${groups.length}),
    ('${root}', 'groups', 'children', 0, ${groups.length})`);
  peer.exec(`insert into counts values ('${root}', ${rows})`);
  for (const database of [ours, peer]) {
    database.exec("commit; pragma journal_mode = wal; analyze");
    database.close();
  }
  return { folder, root, repo: repos[Math.floor(rows / 2)]!.uid };
}

/** A database that is only filled: nothing has to survive a power cut. */
function openFast(path: string): DatabaseSync {
  mkdirSync(join(path, ".."), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec("pragma synchronous = off; pragma cache_size = -200000; begin");
  return database;
}
