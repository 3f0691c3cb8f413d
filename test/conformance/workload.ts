/**
 * Writers that keep a server busy and know what it has acknowledged: which rows must be there, with which content,
 * which must be gone, and which calls were cut off, whose outcome is either all or nothing.
 */
import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import type { Answer, RestClient, Row } from "../cli/rest-client.ts";

/** The lists a workload writes to: path and field of the answer. */
export const lists = {
  group: ["/iam/v2/groups", "groups"],
  identity: ["/iam/v2/identities", "identities"],
  roleBinding: ["/iam/v2/roleBindings", "roleBindings"],
  repo: ["/registry/v2/repos", "repos"],
  tag: ["/registry/v2/tags", "tags"],
} as const;

/** A kind of row. */
export type Kind = keyof typeof lists;

/** What a row says, as far as the workload writes it. */
type Content = string;

/** A call that was sent and not answered. */
type CutOff =
  | { readonly does: "create"; readonly kind: Kind; readonly content: Content }
  | { readonly does: "update"; readonly uid: string; readonly content: Content }
  | { readonly does: "delete"; readonly uids: readonly string[] };

/** What the server owes its client. */
export interface Ledger {
  /** Rows whose creation or change was acknowledged. */
  readonly rows: Map<string, { kind: Kind; content: Content }>;
  /** Rows whose deletion was acknowledged. */
  readonly deleted: Set<string>;
  cutOff: CutOff[];
  acknowledged: number;
}

export function emptyLedger(): Ledger {
  return { rows: new Map(), deleted: new Set(), cutOff: [], acknowledged: 0 };
}

/**
 * What is compared of a row. Owner bindings are made by the server, so nobody here knows their uids: the group tells.
 */
export function contentOf(kind: Kind, row: Row): Content {
  if (kind === "tag") return `${row.name} ${row.digest}`;
  if (kind === "roleBinding") return `${row.identity?.uid} ${row.role?.uid} ${row.group?.uid}`;
  return `${row.name} ${row.description}`;
}

/** Writers at work. */
export interface Workload {
  /** Waits for the calls in flight; the calls that failed otherwise than by the connection. */
  stop(): Promise<string[]>;
}

/** Where a writer works, and with what. */
export interface Place {
  readonly root: string;
  readonly viewerRole: string;
}

/** Starts `writers` clients that create, change and delete until they are stopped or the server is gone. */
export function startWorkload(rest: RestClient, place: Place, ledger: Ledger, writers: number): Workload {
  let stopped = false;
  const failures: string[] = [];
  const run = async (writer: number) => {
    for (let turn = 0; !stopped; turn++) {
      try {
        await oneTurn(rest, place, ledger, `${writer} ${turn} ${Math.random().toString(36).slice(2, 8)}`, turn);
      } catch (error) {
        if (error instanceof TypeError) return; // fetch: the server is gone
        failures.push(String(error));
      }
      await setTimeout(0);
    }
  };
  const running = Promise.all(Array.from({ length: writers }, (_, i) => run(i)));
  return {
    async stop() {
      stopped = true;
      await running;
      return failures;
    },
  };
}

async function oneTurn(
  rest: RestClient,
  { root, viewerRole }: Place,
  ledger: Ledger,
  label: string,
  turn: number,
): Promise<void> {
  const client = recording(rest, ledger);
  const slug = label.replaceAll(" ", "-");
  const organisation = await client.create("group", "", { name: `org ${label}`, description: "" });
  const folder = await client.create("group", `/${root}`, { name: `folder ${label}`, description: "d" });
  const repo = await client.create("repo", `/${folder}`, { name: slug, description: "" });
  await client.update("repo", repo, { name: slug, description: "changed" });
  const tags = [];
  for (const name of ["1", "2", "3"])
    tags.push(await client.create("tag", `/${repo}`, { name, digest: `sha256:${name.repeat(64)}` }));
  const identity = await client.create("identity", `/${folder}`, {
    name: `ci ${label}`,
    description: "",
    claimMatch: { issuer: "https://issuer.example.com", subject: label },
  });
  const binding = await client.create(
    "roleBinding",
    `/${folder}`,
    { identityUid: identity, roleUid: viewerRole },
    `${identity} ${viewerRole} ${folder}`,
  );
  // A third is kept as it is, a third goes piece by piece, a third goes with what it holds.
  if (turn % 3 === 1) {
    await client.delete(`${lists.roleBinding[0]}/${binding}`, binding);
    await client.delete(`${lists.tag[0]}/${tags[0]}`, tags[0]!);
  } else if (turn % 3 === 2) {
    await client.delete(`${lists.repo[0]}/${repo}?force=true`, repo, ...tags);
    await client.delete(`${lists.identity[0]}/${identity}`, identity, binding);
    await client.delete(`${lists.group[0]}/${folder}`, folder);
    await client.delete(`${lists.group[0]}/${organisation}`, organisation);
  }
}

/** Calls that are written down before they are sent, and again when they are answered. */
function recording(rest: RestClient, ledger: Ledger) {
  const send = async (cutOff: CutOff, call: () => Promise<Answer>) => {
    ledger.cutOff.push(cutOff);
    const answer = await call();
    ledger.cutOff.splice(ledger.cutOff.indexOf(cutOff), 1);
    if (answer.status !== 200)
      throw new Error(`${JSON.stringify(cutOff)}: ${answer.status} ${JSON.stringify(answer.body)}`);
    ledger.acknowledged++;
    return answer.body;
  };
  return {
    async create(
      kind: Kind,
      parent: string,
      body: object,
      content = contentOf(kind, { uid: "", ...body }),
    ): Promise<string> {
      const { uid } = await send({ does: "create", kind, content }, () =>
        rest.post(`${lists[kind][0]}${parent}`, body),
      );
      ledger.rows.set(uid, { kind, content });
      return uid;
    },
    async update(kind: Kind, uid: string, body: object) {
      const content = contentOf(kind, { uid, ...body });
      await send({ does: "update", uid, content }, () => rest.patch(`${lists[kind][0]}/${uid}`, body));
      ledger.rows.set(uid, { kind, content });
    },
    async delete(path: string, ...uids: readonly string[]) {
      await send({ does: "delete", uids }, () => rest.delete(path));
      for (const uid of uids) {
        ledger.rows.delete(uid);
        ledger.deleted.add(uid);
      }
    },
  };
}

/** Every row of every list. Errors: a total that is not the number of rows, a row without its parent. */
export async function everything(rest: RestClient): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const [kind, [path, field]] of Object.entries(lists) as [Kind, (typeof lists)[Kind]][]) {
    const { rows, totalCount } = await rest.walk(path, field);
    expect(totalCount, kind).toBe(rows.length);
    for (const row of rows) found.set(row.uid, contentOf(kind, row));
  }
  for (const uid of found.keys())
    if (uid.includes("/")) expect(found.has(uid.slice(0, uid.lastIndexOf("/")))).toBe(true);
  return found;
}
