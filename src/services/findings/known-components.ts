/**
 * What is known about components, kept in memory until anything about packages changes. A component has a number in
 * each generation of the memory, by which images name it. A generation ends when it has grown too large; calls that use
 * it go on with it.
 */
import { isOpen } from "../../matching/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { readMatches } from "../matches/component-matches.ts";
import { readComponents, type StoredComponent } from "../matches/components.ts";
import { eachComponent } from "../matches/image-body.ts";
import { readRevision } from "../matches/revision.ts";
import { type Resolved, resolveAll } from "./resolved.ts";

/** An image, with the numbers of its components. */
export interface DecodedImage {
  readonly uid: string;
  readonly repo: string;
  readonly digest: string;
  /** Sorted. */
  readonly numbers: Uint32Array;
  /** Since when the image is known to have each of them, in seconds since 1970. */
  readonly since: Uint32Array;
}

/** The components that are remembered at most, and the memberships of images. */
const maxComponents = 200_000;
const maxMemberships = 8_000_000;
/** The components that are read at once. */
const portion = 1000;

/** The memory of one server. */
export class KnownComponents {
  #generation = new Generation("");

  /** The generation that a call uses. What it knows is that of now. */
  async open(session: ReadSession): Promise<Generation> {
    const revision = await readRevision(session);
    const { isFull } = this.#generation;
    if (isFull || this.#generation.revision !== revision)
      this.#generation = isFull ? new Generation(revision) : this.#generation.at(revision);
    return this.#generation;
  }
}

/** Numbers of components, and what is known about them at one revision. The numbers are those of all revisions. */
export class Generation {
  readonly revision: string;
  readonly #numbers: Map<string, number>;
  readonly #ids: string[];
  /** At this revision only, as what is known about them. */
  readonly #components: (StoredComponent | undefined)[] = [];
  readonly #findings: (readonly Resolved[] | undefined)[] = [];
  readonly #open: (readonly Resolved[])[] = [];
  /** By uid. The row of an image that was removed and pushed again has the versions of before, and another time. */
  readonly #images: Map<string, Pick<Row, "version" | "createTimeUs"> & { readonly image: DecodedImage }>;
  readonly #size: { memberships: number };

  constructor(revision: string, from?: Generation) {
    this.revision = revision;
    this.#numbers = from === undefined ? new Map() : from.#numbers;
    this.#ids = from === undefined ? [] : from.#ids;
    this.#images = from === undefined ? new Map() : from.#images;
    this.#size = from === undefined ? { memberships: 0 } : from.#size;
  }

  /** The same numbers at another revision. */
  at(revision: string): Generation {
    return new Generation(revision, this);
  }

  get isFull(): boolean {
    return this.#ids.length > maxComponents || this.#size.memberships > maxMemberships;
  }

  /** How many numbers there are: each is less. */
  get size(): number {
    return this.#ids.length;
  }

  /** The image of a row. */
  decode({ uid, parent, version, createTimeUs, columns, body }: Row): DecodedImage {
    const known = this.#images.get(uid);
    if (known?.version === version && known.createTimeUs === createTimeUs) return known.image;
    const members: [number: number, since: number][] = [];
    eachComponent(body, (id, sinceMs) => members.push([this.numberOf(id), sinceMs / 1000]));
    members.sort(([a], [b]) => a - b);
    const image = {
      uid,
      repo: parent,
      digest: columns.digest as string,
      numbers: Uint32Array.from(members, ([number]) => number),
      since: Uint32Array.from(members, ([, since]) => since),
    };
    this.#size.memberships += members.length - (known?.image.numbers.length ?? 0);
    this.#images.set(uid, { version, createTimeUs, image });
    return image;
  }

  /** The number of the component with an id. */
  numberOf(id: string): number {
    const known = this.#numbers.get(id);
    if (known !== undefined) return known;
    const number = this.#ids.push(id) - 1;
    this.#numbers.set(id, number);
    return number;
  }

  /** Reads those of the components that are not known yet. */
  async loadComponents(session: ReadSession, numbers: Iterable<number>): Promise<void> {
    const missing = [...numbers].filter((number) => this.#components[number] === undefined);
    const ids = missing.map((number) => this.#ids[number]!);
    for (const [id, component] of await readComponents(session, ids))
      this.#components[this.#numbers.get(id)!] = component;
  }

  /** Reads what is not known yet of these components and about them. */
  async load(session: ReadSession, numbers: Iterable<number>): Promise<void> {
    const missing = [...numbers].filter((number) => this.#findings[number] === undefined);
    for (let start = 0; start < missing.length; start += portion) {
      const some = missing.slice(start, start + portion);
      const ids = some.map((number) => this.#ids[number]!);
      await this.loadComponents(session, some);
      const matches = await readMatches(session, ids);
      const findings = await resolveAll(session, matches, (id) => this.#components[this.#numbers.get(id)!]!);
      for (const [i, number] of some.entries()) {
        const all = findings.get(ids[i]!) ?? none;
        this.#findings[number] = all;
        this.#open[number] = all.every(isOpen) ? all : all.filter(isOpen);
      }
    }
  }

  /** A component that was loaded. */
  component(number: number): StoredComponent {
    return this.#components[number]!;
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

/** Since when an image is known to have a component, in milliseconds since 1970; undefined if it has not. */
export function sinceMsIn({ numbers, since }: DecodedImage, number: number): number | undefined {
  let [low, high] = [0, numbers.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = numbers[middle]!;
    if (found === number) return since[middle]! * 1000;
    if (found < number) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}
