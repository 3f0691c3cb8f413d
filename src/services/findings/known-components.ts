/**
 * What is known about components, kept in memory until it changes. A component has a number in each generation of the
 * memory, by which images name it. A generation ends when it has grown too large; calls that use it go on with it.
 */
import { isOpen, type UnmatchedReason } from "../../matching/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { componentsMatching, readMatches, SharedMatches } from "../matches/component-matches.ts";
import { readComponents, type StoredComponent } from "../matches/components.ts";
import { changesAfter, type FindingChanges, type Revision, readRevision } from "../matches/revision.ts";
import { imageMembers } from "../matches/tables.ts";
import { ComponentNumbers } from "./component-numbers.ts";
import { ImageMembers, type Members } from "./image-members.ts";
import { type Resolved, resolveAll, SharedFindings } from "./resolved.ts";

/** An image, with its components. */
export interface DecodedImage extends Members {
  readonly uid: string;
  readonly repo: string;
  readonly digest: string;
}

/** The components that are remembered at most, and the memberships of images. */
const maxComponents = 200_000;
const maxMemberships = 8_000_000;
/** The components that are read at once. */
const portion = 300;

/** The memory of one server. */
export class KnownComponents {
  #generation = new Generation({ changes: "", feedOrder: "" });

  /** The generation that a call uses. What it knows is that of now. */
  async open(session: ReadSession): Promise<Generation> {
    const revision = await readRevision(session);
    const known = this.#generation;
    if (known.isFull) return this.#use(new Generation(revision));
    if (isSame(known.revision, revision)) return known;
    const changes =
      known.revision.feedOrder === revision.feedOrder ? await changesAfter(session, known.revision.changes) : undefined;
    const stale = changes && (await known.staleNumbers(session, changes));
    // Another call may have come to the same in the meantime.
    if (isSame(this.#generation.revision, revision)) return this.#generation;
    return this.#use(new Generation(revision, known, stale));
  }

  #use(generation: Generation): Generation {
    this.#generation = generation;
    return generation;
  }
}

function isSame(a: Revision, b: Revision): boolean {
  return a.changes === b.changes && a.feedOrder === b.feedOrder;
}

/** What is known about components at one revision. The numbers are those of all revisions. */
export class Generation {
  readonly revision: Revision;
  readonly #numbers: ComponentNumbers;
  readonly #members: ImageMembers;
  /** By number, as what is known about them. */
  readonly #components: (StoredComponent | undefined)[];
  readonly #findings: (readonly Resolved[] | undefined)[];
  readonly #open: (readonly Resolved[])[];
  readonly #reasons: Map<number, UnmatchedReason>;
  readonly #sharedMatches = new SharedMatches();
  readonly #sharedFindings = new SharedFindings();
  /** By uid. The row of an image that was removed and pushed again has the versions of before, and another time. */
  readonly #images: Map<string, Pick<Row, "version" | "createTimeUs"> & { readonly image: DecodedImage }>;

  /**
   * @param from the generation whose numbers and images it has.
   * @param stale the numbers of the components about which something else may be known than `from` has; undefined for
   * all.
   */
  constructor(revision: Revision, from?: Generation, stale?: readonly number[]) {
    this.revision = revision;
    this.#numbers = from === undefined ? new ComponentNumbers() : from.#numbers;
    this.#members = from === undefined ? new ImageMembers(this.#numbers) : from.#members;
    this.#images = from === undefined ? new Map() : from.#images;
    const isKept = from !== undefined && stale !== undefined;
    this.#components = isKept ? [...from.#components] : [];
    this.#findings = isKept ? [...from.#findings] : [];
    this.#open = isKept ? [...from.#open] : [];
    this.#reasons = new Map(isKept ? from.#reasons : []);
    for (const number of stale ?? []) {
      this.#components[number] = undefined;
      this.#findings[number] = undefined;
      this.#reasons.delete(number);
    }
  }

  /** The numbers of the components that changes are about. */
  async staleNumbers(session: ReadSession, { components, vulnerabilities }: FindingChanges): Promise<number[]> {
    const matched = await componentsMatching(session, vulnerabilities);
    return [...new Set([...components, ...matched])].flatMap((id) => this.#numbers.known(id) ?? []);
  }

  get isFull(): boolean {
    return this.#numbers.size > maxComponents || this.#members.count > maxMemberships;
  }

  /** How many numbers there are: each is less. */
  get size(): number {
    return this.#numbers.size;
  }

  /** The images of rows of image contents, in their order. What is in those that are not known yet is read. */
  async decode(session: ReadSession, rows: readonly Row[]): Promise<DecodedImage[]> {
    const missing = rows.filter((row) => this.#imageOf(row) === undefined);
    const members = await session.getMany(
      imageMembers,
      missing.map(({ uid }) => uid),
    );
    for (const { uid, parent, version, createTimeUs, columns } of missing) {
      const { body } = members.get(uid) ?? { body: new Uint8Array() };
      const image = { uid, repo: parent, digest: columns.digest as string, ...this.#members.read(body) };
      this.#images.set(uid, { version, createTimeUs, image });
      await session.pause();
    }
    return rows.map((row) => this.#images.get(row.uid)!.image);
  }

  #imageOf({ uid, version, createTimeUs }: Row): DecodedImage | undefined {
    const known = this.#images.get(uid);
    return known?.version === version && known.createTimeUs === createTimeUs ? known.image : undefined;
  }

  /** The number of the component with an id. */
  numberOf(id: string): number {
    return this.#numbers.numberOf(id);
  }

  /** The number of a component that an image contains, among those that were decoded. */
  knownNumber(id: string): number | undefined {
    return this.#numbers.known(id);
  }

  /** Reads those of the components that are not known yet. */
  async loadComponents(session: ReadSession, numbers: Iterable<number>): Promise<void> {
    const missing = [...numbers].filter((number) => this.#components[number] === undefined);
    const ids = missing.map((number) => this.#numbers.idOf(number));
    for (const [id, component] of await readComponents(session, ids)) this.#components[this.numberOf(id)] = component;
  }

  /** Reads what is not known yet of these components and about them. */
  async load(session: ReadSession, numbers: Iterable<number>): Promise<void> {
    const missing = [...numbers].filter((number) => this.#findings[number] === undefined);
    for (let start = 0; start < missing.length; start += portion) {
      const some = missing.slice(start, start + portion);
      const ids = some.map((number) => this.#numbers.idOf(number));
      await this.loadComponents(session, some);
      const { matches, reasons } = await readMatches(session, ids, this.#sharedMatches);
      const componentOf = (id: string) => this.component(this.numberOf(id));
      const findings = await resolveAll(session, matches, componentOf, this.#sharedFindings);
      for (const [i, number] of some.entries()) {
        const all = findings.get(ids[i]!)?.slice() ?? none; // without the space that it grew by
        this.#findings[number] = all;
        this.#open[number] = all.every(isOpen) ? all : all.filter(isOpen);
        const reason = reasons.get(ids[i]!);
        if (reason !== undefined) this.#reasons.set(number, reason);
      }
    }
  }

  /** A component that was loaded, and exists. */
  component(number: number): StoredComponent {
    return this.#components[number]!;
  }

  /** Why it is not known whether a component that was loaded has a finding more; undefined if it has not. */
  reason(number: number): UnmatchedReason | undefined {
    return this.#reasons.get(number);
  }

  /** The findings of a component that was loaded, in all states. */
  findings(number: number): readonly Resolved[] {
    return this.#findings[number]!;
  }

  /** Those that are affected or under investigation. */
  open(number: number): readonly Resolved[] {
    return this.#open[number]!;
  }
}

const none: readonly Resolved[] = [];
