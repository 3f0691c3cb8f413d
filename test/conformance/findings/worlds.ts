/** Random worlds: groups with repos, feeds, and changes of both, which are told to a server and to the raw inputs. */

import { writeFeedOrder } from "../../../src/resource/index.ts";
import {
  pruneKnown,
  pruneRecords,
  removeImage,
  saveExploitScores,
  saveFeed,
  saveImage,
  saveImagePackages,
  saveKnown,
} from "../../../src/services/index.ts";
import type { Database, WriteSession } from "../../../src/store/index.ts";
import { Random } from "../../codec/random.ts";
import type { Json } from "../contract.ts";
import { digestOf, freshName, makeGroup, makeMember, makeRepo } from "../fixtures.ts";
import type { Platform } from "../platform.ts";
import { changeAnalyses } from "./decisions.ts";
import { vectors } from "./groups.ts";
import {
  purlOf,
  type RawEvent,
  RawInputs,
  type RawListed,
  type RawPackage,
  type RawRecord,
  type RawRepo,
} from "./inputs.ts";
import { FindingsModel } from "./model.ts";
import { saveRecords } from "./save-records.ts";

/** Times of a world are whole seconds from here on, so that they are exact wherever they are stored. */
const beginMs = Date.UTC(2026, 0, 1);
const platformsOfIndex = 2;
const cvesOfWorld = 6;

interface WorldOptions {
  readonly platform: Platform;
  readonly database: Database;
  readonly seed: number;
  /** Absent: as the seed has it. */
  readonly isTangled?: boolean | undefined;
}

/** A world on one database. */
export class FindingsWorld {
  readonly inputs = new RawInputs();
  readonly model: FindingsModel;
  readonly random: Random;
  /** All packages that there may be. */
  readonly packages: readonly RawPackage[];
  readonly groups: readonly string[];
  /** May see what is in the first group. */
  readonly member: string;
  readonly root: string;
  /** Whether ids may be joined with several CVEs. Since when something is known is told for simple worlds only. */
  readonly isTangled: boolean;
  readonly #name: string;
  readonly #platform: Platform;
  readonly #database: Database;
  readonly #firstCve: number;
  readonly #firstDigest: number;
  #nowMs = beginMs;

  private constructor(
    { platform, database, seed, isTangled }: WorldOptions,
    { root, groups, member }: { root: string; groups: readonly string[]; member: string },
  ) {
    this.#platform = platform;
    this.#database = database;
    this.root = root;
    this.groups = groups;
    this.member = member;
    this.random = new Random(seed);
    this.isTangled = isTangled ?? this.random.oneIn(3);
    this.#name = freshName("w");
    this.#firstCve = 10_000 * (1 + Math.floor(Math.random() * 50_000));
    this.#firstDigest = 1000 * Math.floor(Math.random() * 1e9);
    this.packages = this.#allPackages();
    this.model = new FindingsModel(this.inputs, this.packages);
  }

  static async create(
    platform: Platform,
    database: Database,
    seed: number,
    { isTangled }: Pick<WorldOptions, "isTangled"> = {},
  ): Promise<FindingsWorld> {
    const { uid: root } = await makeGroup(platform);
    const groups = [(await makeGroup(platform, root)).uid as string, (await makeGroup(platform, root)).uid as string];
    const { token } = await makeMember(platform, groups[0]!, "viewer");
    const world = new FindingsWorld({ platform, database, seed, isTangled }, { root, groups, member: token });
    for (const group of [groups[0]!, groups[0]!, groups[1]!]) {
      const { uid, name } = await makeRepo(platform, group);
      world.inputs.repos.push({ uid, name, group, images: new Map(), lists: new Map(), tags: new Map() });
    }
    return world;
  }

  /** Makes some random changes. */
  async change(count: number): Promise<void> {
    const changes = [
      ...Array(5).fill(() => this.#changeRecord()),
      ...Array(3).fill(() => this.#changeList()),
      ...Array(2).fill(() => this.#addImage()),
      ...Array(2).fill(() => this.#moveTag()),
      ...Array(2).fill(() => this.#removeImage()),
      () => this.#prune(),
      () => this.#changeClaims(),
      () => this.#changeFeedOrder(),
      () => this.#changeScores(),
      () => this.#changeExploited(),
      ...Array(3).fill(() => changeAnalyses(this, this.#platform, this.#digest().digest)),
    ] as (() => Promise<void>)[];
    for (let i = 0; i < count; i++) {
      this.#nowMs += 1000 * (1 + this.random.below(100));
      await this.random.pick(changes)();
      this.model.observe(this.#nowMs);
    }
  }

  /** Records of one feed, with ids of their own, that nobody has told yet. */
  newRecords(count: number): (RawRecord & { readonly osv: Json })[] {
    return Array.from({ length: count }, (_, i) => {
      const { osv } = this.#randomOsv(undefined);
      const id = `GHSA-${this.#name}-new-${i}`;
      return { feed: `${this.#name}-a`, id, osv: { ...osv, id } };
    });
  }

  /** Tells the model of records that were stored by others. */
  tell(records: readonly RawRecord[]): void {
    for (const record of records) this.inputs.records.set(`${record.feed} ${record.id}`, record);
    this.model.observe(this.#nowMs);
  }

  /** Any id of the world. */
  anyId(): string {
    return this.random.pick([...this.#ids("CVE"), ...this.#ids("GHSA"), ...this.#ids("PYSEC")]);
  }

  #transact<T>(work: (session: WriteSession) => Promise<T>): Promise<T> {
    return this.#database.transact(work, { isSerializable: true });
  }

  #ids(kind: "CVE" | "GHSA" | "PYSEC"): string[] {
    return Array.from({ length: cvesOfWorld }, (_, i) =>
      kind === "CVE" ? `CVE-2026-${this.#firstCve + i}` : `${kind}-${this.#name}-${i}`,
    );
  }

  #allPackages(): RawPackage[] {
    const all: RawPackage[] = [];
    const plain = { namespace: "", distro: "", origin: "", originVersion: "" };
    for (let i = 0; i < 3; i++)
      for (const version of versions) {
        const name = `${this.#name}-${i}`;
        const origin = i === 0 ? "" : `${this.#name}-0`;
        all.push({ ...plain, type: "npm", name, version });
        all.push({ ...plain, type: "apk", namespace: "wolfi", name, version: `${version}-r0`, origin });
        const distro = i === 2 ? "debian-11" : "debian-12.5";
        const originVersion = i === 1 ? `${version}-2` : "";
        all.push({ type: "deb", namespace: "debian", name, version: `${version}-1`, distro, origin, originVersion });
      }
    return all;
  }

  #feed(): string {
    return `${this.#name}-${this.random.pick(["a", "b"])}`;
  }

  async #changeRecord(): Promise<void> {
    const known = [...this.inputs.records.values()];
    const before = known.length > 0 && !this.random.oneIn(3) ? this.random.pick(known) : undefined;
    const record = this.random.oneIn(3) ? this.#randomAdvisory(before) : this.#randomOsv(before);
    this.inputs.records.set(`${record.feed} ${record.id}`, record);
    await this.#transact((session) => saveRecords(session, [record], this.#nowMs));
  }

  #aliasesOf(id: string): string[] {
    if (this.random.oneIn(3)) return [];
    const place = Number(id.split("-").at(-1)!) % 10;
    if (this.isTangled) return [this.anyId(), ...(this.random.oneIn(2) ? [this.anyId()] : [])];
    const near = ["CVE", "GHSA", "PYSEC"].map((kind) => this.#ids(kind as "CVE")[place]!);
    return [this.random.pick(near)];
  }

  #randomOsv(before: RawRecord | undefined): RawRecord & { readonly osv: Json } {
    const same = before !== undefined && "osv" in before ? before : undefined;
    const id = same?.id ?? this.anyId();
    const part = () => same === undefined || this.random.oneIn(2);
    const affected = part() ? this.#randomAffected() : same!.osv.affected;
    const osv: Json = {
      id,
      modified: new Date(beginMs + 1000 * this.random.below(3)).toISOString(),
      aliases: part() ? this.#aliasesOf(id) : same!.osv.aliases,
      summary: this.random.pick(["", "First.", "Second."]),
      severity: this.random.oneIn(4) ? [] : [{ type: "CVSS_V3", score: this.random.pick(Object.keys(vectors)) }],
      affected,
      ...(this.random.oneIn(6) && { withdrawn: "2026-01-02T00:00:00Z" }),
    };
    return { feed: same?.feed ?? this.#feed(), id, osv };
  }

  #randomAffected(): Json[] {
    const kinds = ["npm", "Wolfi", "Debian:11", "Debian:12"].filter(() => this.random.oneIn(2));
    const name = `${this.#name}-${this.random.below(3)}`;
    return (kinds.length === 0 ? ["npm"] : kinds).map((ecosystem) => {
      const suffix = ecosystem === "npm" ? "" : ecosystem === "Wolfi" ? "-r0" : "-1";
      const ranges = Array.from({ length: 1 + this.random.below(2) }, () => ({
        type: "ECOSYSTEM",
        events: this.#randomEvents(suffix),
      }));
      const listed = this.random.oneIn(4) ? [`${this.random.pick(versions)}${suffix}`] : [];
      return { package: { ecosystem, name }, ranges, versions: listed };
    });
  }

  #randomEvents(suffix: string): Json[] {
    const points = versions.filter(() => this.random.oneIn(2));
    const events: Json[] = [];
    const end = () => (this.random.oneIn(4) ? "last_affected" : "fixed");
    for (const [i, point] of points.entries())
      events.push({
        [i % 2 === 0 ? "introduced" : end()]: i === 0 && this.random.oneIn(2) ? "0" : `${point}${suffix}`,
      });
    return events.length === 0 ? [{ introduced: "0" }] : events;
  }

  #randomAdvisory(before: RawRecord | undefined): RawRecord {
    const same = before !== undefined && "advisory" in before ? before : undefined;
    const id = same?.id ?? this.anyId();
    const event = (): RawEvent => {
      const timeMs = beginMs + this.random.below(1e6) * 1000;
      switch (this.random.below(6)) {
        case 0:
          return {
            timeMs,
            kind: "DETECTION",
            ...this.random.pick([{}, {}, { part: this.random.pick(this.packages).name }]),
          };
        case 1:
          return { timeMs, kind: "TRUE_POSITIVE" };
        case 2:
          return { timeMs, kind: this.random.pick(["PENDING_UPSTREAM", "FIX_NOT_PLANNED"]) };
        case 3: {
          const all = ["VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE", "INLINE_MITIGATIONS_EXIST"];
          return { timeMs, kind: "FALSE_POSITIVE", justification: this.random.pick(all) };
        }
        default:
          return { timeMs, kind: "FIXED", fixedVersion: this.random.pick(["0", ...versions.map((v) => `${v}-r0`)]) };
      }
    };
    const kind = this.random.pick(["advisory", "advisory", "vex", "vex-exact"] as const);
    const advisory = {
      aliases: this.#aliasesOf(id).filter((alias) => alias !== id),
      modifyMs: beginMs + 1000 * this.random.below(3),
      kind,
      name: same?.advisory.name ?? `${this.#name}-${this.random.below(3)}`,
      events: [...(same?.advisory.events.slice(-2) ?? []), event()],
    };
    return { feed: same?.feed ?? `${this.#name}-doc`, id, advisory };
  }

  async #prune(): Promise<void> {
    const feed = this.random.oneIn(2) ? this.#feed() : `${this.#name}-doc`;
    const kept = new Set<string>();
    for (const record of [...this.inputs.records.values()]) {
      if (record.feed !== feed) continue;
      if (this.random.oneIn(2)) kept.add(record.id);
      else this.inputs.records.delete(`${feed} ${record.id}`);
    }
    const nowMs = this.#nowMs;
    await this.#transact((session) => pruneRecords(session, { feed, nowMs }, ({ id }) => kept.has(id)));
  }

  async #changeClaims(): Promise<void> {
    const feed = this.random.oneIn(2) ? this.#feed() : `${this.#name}-doc`;
    const patterns = ["pkg:apk/wolfi/*", `pkg:apk/wolfi/${this.#name}-0`, "pkg:deb/*", "pkg:npm/*"];
    const claims = patterns
      .filter(() => this.random.oneIn(2))
      .map((pattern) => ({ pattern, coverage: this.random.pick(["COMPLETE", "FIXES_ONLY"] as const) }));
    this.inputs.claims.set(feed, claims);
    await this.#transact((session) => saveFeed(session, { feed, command: "osv", importMs: this.#nowMs, claims }));
  }

  async #changeFeedOrder(): Promise<void> {
    const names = ["a", "b", "doc"].map((name) => `${this.#name}-${name}`);
    const order = names.filter(() => this.random.oneIn(2));
    if (this.random.oneIn(2)) order.reverse();
    this.inputs.feedOrder = order;
    await this.#transact((session) => writeFeedOrder(session, order));
  }

  async #changeScores(): Promise<void> {
    const isWhole = this.random.oneIn(2);
    const scores = this.#ids("CVE")
      .filter(() => this.random.oneIn(2))
      .map((cve) => ({ cve, epss: this.random.below(1e6), percentile: this.random.below(1e6) }));
    if (isWhole) this.inputs.epss.clear();
    for (const { cve, ...score } of scores) this.inputs.epss.set(cve, score);
    const block = `2026-${this.#firstCve / 1000}`;
    await this.#transact((session) => saveExploitScores(session, { block, scores, isWhole }, this.#nowMs));
  }

  async #changeExploited(): Promise<void> {
    const cve = this.random.pick(this.#ids("CVE"));
    const nowMs = this.#nowMs;
    if (this.inputs.exploited.delete(cve)) {
      let after: string | undefined;
      do after = (await this.#transact((session) => pruneKnown(session, (each) => each !== cve, nowMs, after))).next;
      while (after !== undefined);
      return;
    }
    const requiredAction = this.random.pick(["Patch.", "Remove."]);
    this.inputs.exploited.set(cve, requiredAction);
    const entry = { cve, addMs: beginMs, requiredAction, isUsedByRansomware: false };
    await this.#transact((session) => saveKnown(session, entry, nowMs));
  }

  /** Digests of a repo: single images, and indexes of two of them each, which overlap. */
  #digest(): { readonly digest: string; readonly platforms: readonly string[] } {
    const place = this.random.below(7);
    const at = (i: number) => digestOf(this.#firstDigest + i);
    if (place < 4) return { digest: at(place), platforms: [at(place)] };
    const parts = Array.from({ length: platformsOfIndex }, (_, i) => at((place - 4 + i) % 4));
    return { digest: at(place), platforms: parts };
  }

  async #addImage(): Promise<void> {
    const repo = this.random.pick(this.inputs.repos);
    const { digest, platforms } = this.#digest();
    repo.images.set(digest, platforms);
    const all = platforms.map((part, i) => ({
      digest: part,
      os: "linux",
      architecture: i === 0 ? "amd64" : "arm64",
      variant: "",
      size: 1,
    }));
    const image = { digest, mediaType: "application/vnd.oci.image.index.v1+json", platforms: all };
    await this.#transact((session) => saveImage(session, repo.uid, image, this.#nowMs));
  }

  async #changeList(repo = this.random.pick(this.inputs.repos), digest = this.#digest().digest): Promise<void> {
    const count = this.random.below(6);
    const all = [...new Set(Array.from({ length: count }, () => this.random.pick(this.packages)))];
    const owners = all.filter(({ type }) => type !== "npm");
    const list = all.map((each): RawListed => {
      const isOwned = each.type === "npm" && owners.length > 0 && !this.random.oneIn(3);
      return isOwned ? { ...each, owner: this.random.pick(owners) } : each;
    });
    repo.lists.set(digest, list);
    const packages = list.map(({ owner, ...each }) => ({
      ...each,
      architecture: "",
      purl: purlOf(each),
      ...(owner && { owner: purlOf(owner) }),
    }));
    await this.#transact((session) => saveImagePackages(session, repo.uid, digest, { packages }, this.#nowMs));
  }

  async #removeImage(): Promise<void> {
    const repo = this.random.pick(this.inputs.repos);
    const digest = this.#anyDigestOf(repo);
    repo.images.delete(digest);
    repo.lists.delete(digest);
    await this.#transact((session) => removeImage(session, repo.uid, digest, this.#nowMs));
    if (this.random.oneIn(2)) return;
    // Pushed again, with another list of packages.
    this.model.observe(this.#nowMs);
    await this.#changeList(repo, digest);
  }

  #anyDigestOf(repo: RawRepo): string {
    const known = [...new Set([...repo.images.keys(), ...repo.lists.keys()])];
    return known.length > 0 ? this.random.pick(known) : this.#digest().digest;
  }

  async #moveTag(): Promise<void> {
    const repo = this.random.pick(this.inputs.repos);
    const name = this.random.pick(["latest", "v1", "v2"]);
    if (repo.tags.has(name) && this.random.oneIn(4)) {
      const { tags } = await this.#platform.ok("ListTags", { name, uidp: { childrenOf: repo.uid } });
      await this.#platform.ok("DeleteTag", { uid: tags[0].uid });
      repo.tags.delete(name);
      return;
    }
    const digest = this.#anyDigestOf(repo);
    await this.#platform.ok("CreateTag", { parent: repo.uid, tag: { name, digest } });
    repo.tags.set(name, digest);
  }
}

const versions = ["1.0.0", "1.1.0", "1.10.0", "2.0.0", "2.3.4", "3.0.0"];
