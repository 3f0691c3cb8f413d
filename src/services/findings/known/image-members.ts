/**
 * The components that images contain, by number. They are parts of few long arrays: many short ones, which stay among
 * others that do not, would leave gaps in memory that nothing fits into.
 */
import { endianness } from "node:os";
import { eachComponent, eachOwned } from "../../matches/image-body.ts";
import type { ComponentNumbers } from "./component-numbers.ts";

/** What an image contains. */
export interface Members {
  /** The numbers of components, sorted. */
  readonly numbers: Uint32Array;
  /** Since when the image is known to have each of them, in seconds since 1970: one time where it is that of all. */
  readonly since: number | Uint32Array;
}

/** The time of the component at a place in {@link Members.numbers}, in milliseconds since 1970. */
export function sinceMsAt({ since }: Members, place: number): number {
  return (typeof since === "number" ? since : since[place]!) * 1000;
}

/** Of a long array: 1 MB. */
const slabLength = 262_144;
/** Where the high half of a number of 64 bits is: second, where the low half comes first. */
const highHalf = endianness() === "LE" ? 1 : 0;

/** Reads what images contain. */
export class ImageMembers {
  readonly #numbers: ComponentNumbers;
  #slab = new Uint32Array(0);
  #used = 0;
  #count = 0;
  /** For sorting: pairs of a number and a time as whole numbers, which need no function to be compared. */
  #pairs = new BigUint64Array(1024);

  constructor(numbers: ComponentNumbers) {
    this.#numbers = numbers;
  }

  /** How many memberships were read. */
  get count(): number {
    return this.#count;
  }

  /** @param body of the members of an image. */
  read(body: Uint8Array): Members {
    let count = 0;
    let halves = new Uint32Array(this.#pairs.buffer);
    eachComponent(body, (high, low, sinceS) => {
      if (count === this.#pairs.length) halves = this.#grow();
      halves[2 * count + highHalf] = this.#numbers.numberOfHalves(high, low);
      halves[2 * count + 1 - highHalf] = sinceS;
      count++;
    });
    this.#nameOwned(body, halves, count);
    this.#pairs.subarray(0, count).sort();
    this.#count += count;
    const numbers = this.#take(count);
    const first = halves[1 - highHalf]!;
    let isSame = true;
    for (let i = 0; i < count; i++) {
      numbers[i] = halves[2 * i + highHalf]!;
      if (halves[2 * i + 1 - highHalf] !== first) isSame = false;
    }
    if (isSame) return { numbers, since: first };
    const since = this.#take(count);
    for (let i = 0; i < count; i++) since[i] = halves[2 * i + 1 - highHalf]!;
    return { numbers, since };
  }

  /** Replaces the numbers of components that others own. */
  #nameOwned(body: Uint8Array, halves: Uint32Array, count: number): void {
    const numbers = new Map<number, number>();
    eachOwned(body, (ofComponent, ofOwner) => {
      const component = this.#numbers.numberOfHalves(...ofComponent);
      const owner = this.#numbers.numberOfHalves(...ofOwner);
      numbers.set(component, this.#numbers.ownedNumber(component, owner));
    });
    if (numbers.size === 0) return;
    for (let at = highHalf; at < 2 * count; at += 2) halves[at] = numbers.get(halves[at]!) ?? halves[at]!;
  }

  #grow(): Uint32Array<ArrayBuffer> {
    const longer = new BigUint64Array(2 * this.#pairs.length);
    longer.set(this.#pairs);
    this.#pairs = longer;
    return new Uint32Array(longer.buffer);
  }

  #take(length: number): Uint32Array {
    if (length > slabLength / 4) return new Uint32Array(length);
    if (this.#used + length > this.#slab.length) {
      this.#slab = new Uint32Array(slabLength);
      this.#used = 0;
    }
    this.#used += length;
    return this.#slab.subarray(this.#used - length, this.#used);
  }
}

/** The same members under other numbers. @param replaced numbers by those that they replace. */
export function renumbered({ numbers, since }: Members, replaced: ReadonlyMap<number, number>): Members {
  const places = Array.from(numbers, (_, i) => i);
  const renamed = numbers.map((number) => replaced.get(number) ?? number);
  places.sort((a, b) => renamed[a]! - renamed[b]!);
  return {
    numbers: Uint32Array.from(places, (place) => renamed[place]!),
    since: typeof since === "number" ? since : Uint32Array.from(places, (place) => since[place]!),
  };
}

/** Those of the members that are among these few numbers, under the numbers that these stand for. */
export function membersAmong(members: Members, numbers: ReadonlyMap<number, number>): Members {
  const found: number[] = [];
  const since: number[] = [];
  for (const [number, named] of numbers) {
    const sinceMs = sinceMsIn(members, number);
    if (sinceMs === undefined) continue;
    let place = found.length;
    while (place > 0 && found[place - 1]! > named) place--;
    found.splice(place, 0, named);
    since.splice(place, 0, sinceMs / 1000);
  }
  return { numbers: new Uint32Array(found), since: new Uint32Array(since) };
}

/** Since when an image is known to have a component, in milliseconds since 1970; undefined if it has not. */
export function sinceMsIn(members: Members, number: number): number | undefined {
  const { numbers } = members;
  let [low, high] = [0, numbers.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = numbers[middle]!;
    if (found === number) return sinceMsAt(members, middle);
    if (found < number) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}
