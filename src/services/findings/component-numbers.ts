/**
 * Numbers of components, from 0 on, in the order in which their ids come. An id has 8 bytes, and an image hundreds of
 * them: they are kept as halves of 4 bytes in tables of numbers, and looked up without making texts of them.
 */
import { randomBytes } from "node:crypto";
import { idLength } from "../matches/components.ts";

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
    const number = this.#size++;
    this.#high[number] = high;
    this.#low[number] = low;
    this.#places[place] = number;
    if (this.#size === this.#high.length) this.#grow();
    return number;
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
      this.#places[this.#placeOf(high[number]!, low[number]!)] = number;
  }
}

function halvesOf(id: string): [high: number, low: number] {
  return [Number.parseInt(id.slice(0, idLength / 2), 16), Number.parseInt(id.slice(idLength / 2), 16)];
}
