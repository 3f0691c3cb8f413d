/**
 * Numbers of components, from 0 on, in the order in which their ids come. An id has 8 bytes, and an image hundreds of
 * them: they are kept as halves of 4 bytes in tables of numbers, and looked up without making texts of them.
 *
 * A component whose files belong to a package has a number more for each such package: it has other findings there.
 */
import { randomBytes } from "node:crypto";
import { idLength } from "../../matches/components.ts";

/** The numbers of a component and of the one that owns its files. */
export interface Owned {
  readonly component: number;
  readonly owner: number;
}

/** Of the table of places, a power of two. */
const firstLength = 1024;
const empty = 0xffff_ffff;

export class ComponentNumbers {
  /** The halves of the ids, by number. */
  #high = new Uint32Array(firstLength);
  #low = new Uint32Array(firstLength);
  /** Numbers at the places of their ids, or the next ones that were free; at least half of the places are empty. */
  #places = new Uint32Array(2 * firstLength).fill(empty);
  #size = 0;
  /** By the number of an owned component, that of its own and that of its owner. */
  readonly #owned = new Map<number, Owned>();
  /** The numbers of owned components: by that of the component, by that of the owner. */
  readonly #ofOwners = new Map<number, Map<number, number>>();
  /** So that nobody can choose ids that have the same place. */
  readonly #salt = randomBytes(4).readUInt32BE() | 1;

  /** How many there are. */
  get size(): number {
    return this.#size;
  }

  /** The number of an id, in hex digits. It gets one if it has none. */
  numberOf(id: string): number {
    return this.numberOfHalves(...halvesOf(id));
  }

  /** The number that an id already has. */
  known(id: string): number | undefined {
    const number = this.#places[this.#placeOf(...halvesOf(id))]!;
    return number === empty ? undefined : number;
  }

  /** The number of the id with these halves of 4 bytes. It gets one if it has none. */
  numberOfHalves(high: number, low: number): number {
    const place = this.#placeOf(high, low);
    const known = this.#places[place]!;
    if (known !== empty) return known;
    this.#places[place] = this.#size;
    return this.#add(high, low);
  }

  #add(high: number, low: number): number {
    const number = this.#size++;
    this.#high[number] = high;
    this.#low[number] = low;
    if (this.#size === this.#high.length) this.#grow();
    return number;
  }

  /** The number of a component where another owns its files. It gets one if it has none. */
  ownedNumber({ component, owner }: Owned): number {
    const ofOwners = this.#ofOwners.get(component) ?? new Map<number, number>();
    this.#ofOwners.set(component, ofOwners);
    const known = ofOwners.get(owner);
    if (known !== undefined) return known;
    const number = this.#size;
    ofOwners.set(owner, number);
    this.#owned.set(number, { component, owner });
    return this.#add(this.#high[component]!, this.#low[component]!);
  }

  /** What the number of an owned component stands for; undefined for the number of an id. */
  owned(number: number): Owned | undefined {
    return this.#owned.get(number);
  }

  /** All numbers of owned components. */
  allOwned(): Iterable<[number: number, owned: Owned]> {
    return this.#owned;
  }

  /** Whether the component with this number has others, with owners. */
  hasOwners(component: number): boolean {
    return this.#ofOwners.has(component);
  }

  /** All numbers of the component with this number: its own first, then those with owners. */
  allNumbersOf(component: number): readonly number[] {
    return [component, ...(this.#ofOwners.get(component)?.values() ?? [])];
  }

  /** The id of a number, in hex digits. */
  idOf(number: number): string {
    return [this.#high[number]!, this.#low[number]!]
      .map((half) => half.toString(16).padStart(idLength / 2, "0"))
      .join("");
  }

  /** The place of the number of an id, or the empty one where it belongs. */
  #placeOf(high: number, low: number): number {
    const places = this.#places;
    const last = places.length - 1;
    const mixed = Math.imul(high ^ this.#salt, 0x9e37_79b1) ^ Math.imul(low, this.#salt);
    for (let place = (mixed ^ (mixed >>> 15)) & last; ; place = (place + 1) & last) {
      const number = places[place]!;
      if (number === empty || (this.#high[number] === high && this.#low[number] === low)) return place;
    }
  }

  #grow(): void {
    const length = 2 * this.#high.length;
    const [high, low] = [new Uint32Array(length), new Uint32Array(length)];
    high.set(this.#high);
    low.set(this.#low);
    this.#high = high;
    this.#low = low;
    this.#places = new Uint32Array(2 * length).fill(empty);
    for (let number = 0; number < this.#size; number++)
      if (!this.#owned.has(number)) this.#places[this.#placeOf(high[number]!, low[number]!)] = number;
  }
}

function halvesOf(id: string): [high: number, low: number] {
  return [Number.parseInt(id.slice(0, idLength / 2), 16), Number.parseInt(id.slice(idLength / 2), 16)];
}
