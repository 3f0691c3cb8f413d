/**
 * Random calls, right and wrong, are made in the same order at a server on SQLite and at one on PostgreSQL, over REST
 * and gRPC. Every answer and every error is the same, but for uids, times, etags and page tokens.
 */
import { expect, test } from "vitest";
import { campaign } from "../campaign.ts";
import type { Json } from "./contract.ts";
import { claimMatch, digestOf } from "./fixtures.ts";
import { onBothServers, type Platform } from "./platform.ts";

const sequences = campaign({ short: 5, full: 40 });
const callsOfEach = 50;

/** The same resource, as each of the servers knows it. */
type Uids = readonly string[];

const kinds = ["Group", "Repo", "Tag", "Role", "Identity", "RoleBinding"] as const;
type Kind = (typeof kinds)[number];

/** Random numbers that a seed determines (mulberry32). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** A call, as it is made at one of the servers. */
interface Call {
  readonly method: string;
  readonly request: (server: number) => Json;
  /** What it makes. */
  readonly made?: Kind;
  readonly deleted?: Uids;
}

/** One sequence of calls, in a group of its own. */
class Sequence {
  readonly #platforms: readonly Platform[];
  readonly #random: (below: number) => number;
  /** The root, the administrator, the group, and everything else that was ever made or could have been. */
  readonly #known: Uids[];
  readonly #present = new Map<Kind, Uids[]>();
  readonly #seed: number;
  #pageTokens: { readonly call: Call; readonly tokens: readonly string[] } | undefined;

  constructor(platforms: readonly Platform[], seed: number) {
    this.#platforms = platforms;
    this.#random = randomFrom(seed);
    this.#seed = seed;
    this.#known = [platforms.map(({ root }) => root), platforms.map(({ administrator }) => administrator)];
  }

  async run(): Promise<void> {
    const name = `sequence ${this.#seed}`;
    const parent = this.#known[0]!;
    await this.#call({
      method: "CreateGroup",
      request: (i) => ({ parent: parent[i], group: { name } }),
      made: "Group",
    });
    for (let i = 0; i < callsOfEach; i++) await this.#call(this.#next());
  }

  async #call(call: Call): Promise<void> {
    const over = this.#random(2) === 0 ? "rest" : "grpc";
    const outcomes = await Promise.all(
      this.#platforms.map((platform, i) => platform.call(call.method, call.request(i), { over })),
    );
    const bodies = outcomes.map((outcome) => (outcome.ok ? outcome.message : outcome.status));
    const uids = bodies.map((body): string => (typeof body.uid === "string" ? body.uid : ""));
    const isMade = call.made !== undefined && outcomes.every(({ ok }) => ok);
    if (isMade) this.#known.push(uids);
    const [one, other] = bodies.map((body, i) => this.#normalized(body, i));
    expect(other, `sequence ${this.#seed}: ${call.method} ${JSON.stringify(call.request(0))}`).toBe(one);
    if (isMade && call.request(0).validateOnly !== true) this.#of(call.made!).push(uids);
    const { deleted } = call;
    if (deleted !== undefined && outcomes.every(({ ok }) => ok))
      for (const [kind, all] of this.#present)
        this.#present.set(
          kind,
          all.filter(([uid]) => uid !== deleted[0] && !uid!.startsWith(`${deleted[0]}/`)),
        );
    const tokens = bodies.map((body): string => ("nextPageToken" in body ? body.nextPageToken : ""));
    this.#pageTokens = tokens.every((token) => token !== "") ? { call, tokens } : undefined;
  }

  /** The text of an answer without what differs between two servers. */
  #normalized(body: Json, server: number): string {
    let text = JSON.stringify(body);
    const uids = this.#known.map((known, i) => [known[server]!, `<${i}>`] as const);
    for (const [uid, name] of uids.sort(([a], [b]) => b.length - a.length)) text = text.replaceAll(uid, name);
    return text
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
      .replace(/"etag":"(?:[^"\\]|\\.)+"/g, '"etag":"<etag>"')
      .replace(/"nextPageToken":"[^"]+"/g, '"nextPageToken":"<token>"');
  }

  #of(kind: Kind): Uids[] {
    let uids = this.#present.get(kind);
    if (uids === undefined) {
      uids = [];
      this.#present.set(kind, uids);
    }
    return uids;
  }

  /** Mostly something of the kind, at times anything that ever was, a stranger or nonsense. */
  #any(kind: Kind): Uids {
    const present = this.#of(kind);
    const choice = this.#random(20);
    if (choice === 0) return this.#known[2 + this.#random(this.#known.length - 2)]!; // nothing that sequences share
    if (choice === 1) return this.#same(this.#random(2) === 0 ? "f".repeat(40) : "nonsense");
    return present.length > 0 ? present[this.#random(present.length)]! : this.#known[2]!;
  }

  #same(uid: string): Uids {
    return this.#platforms.map(() => uid);
  }

  /** Few, so that many are taken; one is empty, one too long, one not allowed. */
  #name(): string {
    const names = ["alpha", "beta", "gamma", "Delta", "é", "", "x".repeat(300), "a/b", "\u0000"];
    return `${names[this.#random(this.#random(3) === 0 ? names.length : 4)]}`;
  }

  #next(): Call {
    const following = this.#pageTokens;
    if (following !== undefined && this.#random(2) === 0) {
      const { call, tokens } = following;
      return { method: call.method, request: (i) => ({ ...call.request(i), pageToken: tokens[i] }) };
    }
    const kind = kinds[this.#random(kinds.length)]!;
    switch (this.#random(7)) {
      case 0:
      case 1:
      case 2:
        return this.#create(kind);
      case 3:
        return kind === "Tag" ? this.#create(kind) : this.#update(kind);
      case 4:
        return this.#random(3) === 0 ? this.#delete(kind) : this.#list(kind);
      case 5:
        return this.#list(kind);
      default: {
        const uid = this.#any(kind);
        return { method: `Get${kind}`, request: (i) => ({ uid: uid[i] }) };
      }
    }
  }

  #create(kind: Kind): Call {
    const parent = this.#any(kind === "Tag" ? "Repo" : "Group");
    const name = this.#name();
    const [identity, role] = [this.#any("Identity"), this.#any("Role")];
    const bad = this.#random(20) === 0;
    const bodies: Record<Kind, (server: number) => Json> = {
      Group: () => ({ name, description: bad ? "x".repeat(5000) : "" }),
      Repo: () => ({ name, description: bad ? "\n" : "a repo" }),
      Tag: () => ({ name, digest: bad ? "sha256:0" : digestOf(this.#seed) }),
      Role: () => ({ name, capabilities: [bad ? "CAP_UNKNOWN" : "CAP_REPO_LIST"] }),
      Identity: () => ({ name, ...(!bad && { claimMatch: claimMatch(`subject ${this.#seed}`) }) }),
      RoleBinding: (i) => ({ identityUid: identity[i], roleUid: role[i] }),
    };
    const field = `${kind[0]!.toLowerCase()}${kind.slice(1)}`;
    const more = this.#random(10) === 0 ? { validateOnly: true } : {};
    return {
      method: `Create${kind}`,
      request: (i) => ({ parent: parent[i], [field]: bodies[kind](i), ...more }),
      made: kind,
    };
  }

  #update(kind: Kind): Call {
    const uid = this.#any(kind);
    const role = this.#any("Role");
    const field = `${kind[0]!.toLowerCase()}${kind.slice(1)}`;
    const name = this.#name();
    const masks = ["name", "description", "name,description", "*", "uid", "nothing", ""];
    const updateMask = masks[this.#random(this.#random(3) === 0 ? masks.length : 3)]!;
    const content = (i: number) => (kind === "RoleBinding" ? { roleUid: role[i] } : { name });
    const etag = this.#random(10) === 0 ? { etag: "stale" } : {};
    return {
      method: `Update${kind}`,
      request: (i) => ({ [field]: { uid: uid[i], ...content(i), ...etag }, updateMask }),
    };
  }

  #delete(kind: Kind): Call {
    const uid = this.#any(kind);
    const more = kind === "Repo" && this.#random(2) === 0 ? { force: true } : {};
    return { method: `Delete${kind}`, request: (i) => ({ uid: uid[i], ...more }), deleted: uid };
  }

  #list(kind: Kind): Call {
    const scope = this.#any("Group");
    // Names may be equal; times are not, since one call follows the other.
    const orders = ["name, created_at", "name desc, created_at", "created_at", "created_at desc", "updated_at desc"];
    const wrong = ["nothing", "name,,"];
    const ordered = kind === "RoleBinding" ? orders.slice(2) : orders;
    const all = this.#random(8) === 0 ? wrong : ordered;
    const orderBy = all[this.#random(all.length)]!;
    const [pageSize, skip] = [[1, 2, 50, 0, -1, 10_000][this.#random(6)], [0, 0, 0, 1, 3, -1][this.#random(6)]];
    const within = ["descendantsOf", "childrenOf"][this.#random(2)]!;
    const filter = kind !== "RoleBinding" && this.#random(3) === 0 ? { name: this.#name() } : {};
    return {
      method: kind === "Identity" ? "ListIdentities" : `List${kind}s`,
      request: (i) => ({ uidp: { [within]: scope[i] }, orderBy, pageSize, skip, ...filter }),
    };
  }
}

onBothServers("a server on each database", (platforms) => {
  test(`answers ${sequences} sequences of ${callsOfEach} random calls alike`, { timeout: 300_000 }, async () => {
    for (let seed = 1; seed <= sequences; seed++) await new Sequence(platforms(), seed).run();
  });
});
