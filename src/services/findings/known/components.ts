/**
 * What is known about components, kept in memory until it changes. A component has a number in each generation of the
 * memory, by which images name it. A generation ends when it has grown too large; calls that use it go on with it.
 */
import { AccountTurns } from "../../../fairness/index.ts";
import { LruMap } from "../../../lru-map.ts";
import { isOpen, type UnmatchedReason } from "../../../matching/index.ts";
import type { ReadSession, Row } from "../../../store/index.ts";
import { componentsMatching, readMatches, SharedMatches } from "../../matches/component-matches.ts";
import { readComponents, type StoredComponent } from "../../matches/components.ts";
import { changesAfter, type FindingChanges, type Revision, readRevision } from "../../matches/revision.ts";
import { imageMembers } from "../../matches/tables.ts";
import { ComponentNumbers, type Variant } from "./component-numbers.ts";
import { CountingFindings, type FindingFilter, keyOfFilter } from "./counting-findings.ts";
import { decidedFinding } from "./decided-findings.ts";
import { DecidedImages } from "./decided-images.ts";
import { byId, DecisionSet, type DecisionSource, KnownDecisions } from "./decisions.ts";
import { ImageMembers, type Members } from "./image-members.ts";
import { ownedFindings } from "./owned-findings.ts";
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
/** The filters whose findings are remembered at most. */
const maxFilters = 4;

/** For what is computed of many images. */
export interface WideTurn {
  /** Resolves when nothing else of the account is computed of many images, until the end of the call. */
  begin(): Promise<void>;
}

/** The memory of one server. */
export class KnownComponents {
  readonly #turns = new AccountTurns();
  readonly #decisions: KnownDecisions;
  #generation: Generation;

  /** @param now milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#decisions = new KnownDecisions(now);
    this.#generation = new Generation({ changes: "", feedOrder: "" }, this.#decisions);
  }

  /** The generation that a call uses. What it knows is that of now. */
  async open(session: ReadSession): Promise<Generation> {
    const revision = await readRevision(session);
    const known = this.#generation;
    if (known.isFull) return this.#use(new Generation(revision, this.#decisions));
    if (isSame(known.revision, revision)) return known;
    const changes =
      known.revision.feedOrder === revision.feedOrder ? await changesAfter(session, known.revision.changes) : undefined;
    const stale = changes && (await known.staleNumbers(session, changes));
    // Another call may have come to the same in the meantime.
    if (isSame(this.#generation.revision, revision)) return this.#generation;
    return this.#use(new Generation(revision, this.#decisions, known, stale));
  }

  /**
   * Answers a question that may be about many images. Such questions of one account are answered one after another:
   * together they would fill the memory with what each of them has read.
   */
  async inTurn<T>(session: ReadSession, answer: (turn: WideTurn) => Promise<T>): Promise<T> {
    let end: (() => void) | undefined;
    try {
      return await answer({
        begin: async () => {
          end ??= await session.takeTurn(this.#turns);
        },
      });
    } finally {
      end?.();
    }
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
  readonly #decisions: KnownDecisions;
  readonly #numbers: ComponentNumbers;
  readonly #members: ImageMembers;
  /** By number, as what is known about them. */
  readonly #components: (StoredComponent | undefined)[];
  readonly #findings: (readonly Resolved[] | undefined)[];
  readonly #open: (readonly Resolved[])[];
  readonly #reasons: Map<number, UnmatchedReason>;
  readonly #sharedMatches = new SharedMatches();
  readonly #sharedFindings = new SharedFindings();
  readonly #counting = new LruMap<string, CountingFindings>(maxFilters);
  readonly #decided: DecidedImages<DecodedImage>;
  /** By uid. The row of an image that was removed and pushed again has the versions of before, and another time. */
  readonly #images: Map<string, Pick<Row, "version" | "createTimeUs"> & { readonly image: DecodedImage }>;

  /**
   * @param from the generation whose numbers and images it has.
   * @param stale the numbers of the components about which something else may be known than `from` has; undefined for
   * all.
   */
  constructor(revision: Revision, decisions: KnownDecisions, from?: Generation, stale?: readonly number[]) {
    this.revision = revision;
    this.#decisions = decisions;
    this.#numbers = from === undefined ? new ComponentNumbers() : from.#numbers;
    this.#members = from === undefined ? new ImageMembers(this.#numbers) : from.#members;
    this.#images = from === undefined ? new Map() : from.#images;
    this.#decided = new DecidedImages(decisions, {
      component: (number) => this.component(number),
      findings: (number) => this.findings(number),
      ownerOf: (number) => {
        const owner = this.#numbers.variant(number)?.owner;
        return owner === undefined ? undefined : this.component(owner);
      },
      variantFor: (number, decided) => {
        const variant = this.#numbers.decidedNumber(number, decided);
        this.#addVariant(variant);
        return variant;
      },
    });
    const isKept = from !== undefined && stale !== undefined;
    this.#components = isKept ? [...from.#components] : [];
    this.#findings = isKept ? [...from.#findings] : [];
    this.#open = isKept ? [...from.#open] : [];
    this.#reasons = new Map(isKept ? from.#reasons : []);
    for (const number of isKept ? this.#withVariants(new Set(stale)) : []) {
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

  /** These numbers, and those of variants whose findings depend on theirs. */
  #withVariants(numbers: ReadonlySet<number>): Set<number> {
    const all = new Set(numbers);
    for (const [number, { of, owner = of }] of this.#numbers.variants())
      if (all.has(of) || all.has(owner)) all.add(number);
    return all;
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

  /** The number of the component of a number, which may be that of a variant. */
  componentOf(number: number): number {
    return this.#numbers.componentOf(number);
  }

  /** Whether a component has other findings in some images. */
  hasVariants(component: number): boolean {
    return this.#numbers.hasVariants(component);
  }

  /** The numbers of a component where nothing is decided about it. */
  undecidedNumbersOf(component: number): readonly number[] {
    return this.#numbers.undecidedNumbersOf(component);
  }

  /** All numbers of a component: its own, and those of its variants. */
  allNumbersOf(component: number): readonly number[] {
    return this.#numbers.allNumbersOf(component);
  }

  /** Reads those of the components that are not known yet. */
  async loadComponents(session: ReadSession, numbers: Iterable<number>): Promise<void> {
    const missing: number[] = [];
    for (const number of numbers) if (this.#components[number] === undefined) missing.push(number);
    const ids = missing.map((number) => this.#numbers.idOf(number));
    const read = await readComponents(session, [...new Set(ids)]);
    for (const [i, number] of missing.entries()) this.#components[number] = read.get(ids[i]!);
  }

  /** Reads what is not known yet of these components and about them. */
  async load(session: ReadSession, numbers: Iterable<number>): Promise<void> {
    const missing = new Set<number>();
    const variants: number[] = [];
    for (const number of numbers) this.#addMissing(number, missing, variants);
    await this.#loadComponents(session, [...missing]);
    await this.loadComponents(session, variants);
    for (const number of variants) {
      this.#setFindings(number, this.#findingsOfVariant(this.#numbers.variant(number)!));
      await session.pause();
    }
  }

  /** Adds what is to be loaded before the findings of a number are known. Variants come after what they depend on. */
  #addMissing(number: number, missing: Set<number>, variants: number[]): void {
    if (this.#findings[number] !== undefined) return;
    const variant = this.#numbers.variant(number);
    if (variant === undefined) {
      missing.add(number);
      return;
    }
    for (const each of [variant.of, variant.owner ?? variant.of]) this.#addMissing(each, missing, variants);
    variants.push(number);
  }

  #findingsOfVariant({ of, owner, decisions = [] }: Variant): readonly Resolved[] {
    const own = { component: this.component(of), findings: this.findings(of) };
    if (owner !== undefined)
      return ownedFindings(own, { component: this.component(owner), findings: this.findings(owner) });
    const set = new DecisionSet([byId(decisions)]);
    return own.findings.map((finding) => decidedFinding(finding, own.component, set.about(finding.vulnerability)));
  }

  /** The time by which decisions expire, in milliseconds since 1970. */
  get nowMs(): number {
    return this.#decisions.nowMs;
  }

  /** The images, whose components were loaded, with the numbers of variants where groups have decided about these. */
  decide(session: ReadSession, images: readonly DecodedImage[]): Promise<readonly DecodedImage[]> {
    return this.#decided.decide(session, images);
  }

  /**
   * The images with nothing but those of these components, which were loaded: few of many.
   * @param decisions by default those of now.
   */
  decideAmong(
    session: ReadSession,
    images: readonly DecodedImage[],
    numbers: readonly number[],
    decisions?: DecisionSource,
  ): Promise<readonly DecodedImage[]> {
    return this.#decided.decideAmong(session, images, numbers, decisions);
  }

  /** Adds a variant of a component whose findings are known. */
  #addVariant(number: number): void {
    if (this.#findings[number] !== undefined) return;
    const variant = this.#numbers.variant(number)!;
    this.#components[number] = this.component(variant.of);
    this.#setFindings(number, this.#findingsOfVariant(variant));
  }

  async #loadComponents(session: ReadSession, missing: readonly number[]): Promise<void> {
    for (let start = 0; start < missing.length; start += portion) {
      const some = missing.slice(start, start + portion);
      const ids = some.map((number) => this.#numbers.idOf(number));
      await this.loadComponents(session, some);
      const { matches, reasons } = await readMatches(session, ids, this.#sharedMatches);
      const componentOf = (id: string) => this.component(this.numberOf(id));
      const findings = await resolveAll(session, matches, componentOf, this.#sharedFindings);
      for (const [i, number] of some.entries()) {
        this.#setFindings(number, findings.get(ids[i]!)?.slice() ?? none); // without the space that it grew by
        const reason = reasons.get(ids[i]!);
        if (reason !== undefined) this.#reasons.set(number, reason);
      }
    }
  }

  #setFindings(number: number, all: readonly Resolved[]): void {
    this.#findings[number] = all;
    this.#open[number] = all.every(isOpen) ? all : all.filter(isOpen);
  }

  /** A component that was loaded, and exists. */
  component(number: number): StoredComponent {
    return this.#components[number]!;
  }

  /** Why it is not known whether a component that was loaded has a finding more; undefined if it has not. */
  reason(number: number): UnmatchedReason | undefined {
    return this.#reasons.get(this.componentOf(number));
  }

  /** The findings of a component that was loaded, in all states. */
  findings(number: number): readonly Resolved[] {
    return this.#findings[number]!;
  }

  /** Those that a filter counts, of components that were loaded. */
  counting(filter: FindingFilter): CountingFindings {
    const key = keyOfFilter(filter);
    if (key === undefined) return new CountingFindings(this, filter);
    const counting = this.#counting.get(key) ?? new CountingFindings(this, filter);
    this.#counting.set(key, counting);
    return counting;
  }

  /** Those that are affected or under investigation. */
  open(number: number): readonly Resolved[] {
    return this.#open[number]!;
  }
}

const none: readonly Resolved[] = [];
