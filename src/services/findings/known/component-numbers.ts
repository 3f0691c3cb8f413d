/**
 * Numbers of components, from 0 on, in the order in which their ids come. An id has 8 bytes, and an image hundreds of
 * them: they are kept as halves of 4 bytes in tables of numbers, and looked up without making texts of them.
 *
 * A component has a number more, a variant, for images where it has other findings: because a package owns its files,
 * or because a group has decided about them.
 */
import { randomBytes } from "node:crypto";
import type { Decision } from "../../decisions/decision.ts";
import { idLength } from "../../matches/components.ts";

/** A component in images where it has other findings. */
export interface Variant {
  /** The number of the component. */
  readonly component: number;
  /** The number of what has its findings, but for what `owner` or `decisions` say: the component or a variant. */
  readonly of: number;
  /** The number of the component that owns its files. */
  readonly owner?: number;
  /** What the group of the images has decided, the deciding one first. */
  readonly decisions?: readonly Decision[];
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
  readonly #variants = new Map<number, Variant>();
  /** The numbers of variants, by that of the component, by what distinguishes them. */
  readonly #ofComponents = new Map<number, Map<string, number>>();
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
  ownedNumber(component: number, owner: number): number {
    return this.#variantNumber(`owner ${owner}`, { component, of: component, owner });
  }

  /** The number of a component, or of a variant, about which these are decided. It gets one if it has none. */
  decidedNumber(of: number, decisions: readonly Decision[]): number {
    const key = `${of} ${decisions.map(({ key }) => key).join()}`;
    return this.#variantNumber(key, { component: this.componentOf(of), of, decisions });
  }

  #variantNumber(key: string, variant: Variant): number {
    const ofComponent = this.#ofComponents.get(variant.component) ?? new Map<string, number>();
    this.#ofComponents.set(variant.component, ofComponent);
    const known = ofComponent.get(key);
    if (known !== undefined) return known;
    const number = this.#size;
    ofComponent.set(key, number);
    this.#variants.set(number, variant);
    return this.#add(this.#high[variant.component]!, this.#low[variant.component]!);
  }

  /** What the number of a variant stands for; undefined for the number of a component. */
  variant(number: number): Variant | undefined {
    return this.#variants.get(number);
  }

  /** The number of the component of a number. */
  componentOf(number: number): number {
    return this.#variants.get(number)?.component ?? number;
  }

  /** The numbers of all variants, in the order in which they got them: after what they are of. */
  variants(): Iterable<[number: number, variant: Variant]> {
    return this.#variants;
  }

  /** Whether a component has variants. */
  hasVariants(component: number): boolean {
    return this.#ofComponents.has(component);
  }

  /** The numbers of a component about which nothing is decided: its own first, then those with owners. */
  undecidedNumbersOf(component: number): readonly number[] {
    return this.allNumbersOf(component).filter((number) => this.#variants.get(number)?.decisions === undefined);
  }

  /** All numbers of a component: its own first, then those of its variants. */
  allNumbersOf(component: number): readonly number[] {
    return [component, ...(this.#ofComponents.get(component)?.values() ?? [])];
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
      if (!this.#variants.has(number)) this.#places[this.#placeOf(high[number]!, low[number]!)] = number;
  }
}

function halvesOf(id: string): [high: number, low: number] {
  return [Number.parseInt(id.slice(0, idLength / 2), 16), Number.parseInt(id.slice(idLength / 2), 16)];
}
