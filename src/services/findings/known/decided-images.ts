/** Images with the numbers of variants where groups have decided about their components. */
import { LruMap } from "../../../lru-map.ts";
import type { ReadSession } from "../../../store/index.ts";
import type { Decision } from "../../decisions/decision.ts";
import type { StoredComponent } from "../../matches/components.ts";
import { decisionsAbout } from "./decided-findings.ts";
import type { DecisionSet, DecisionSource } from "./decisions.ts";
import { type Members, membersAmong, renumbered } from "./image-members.ts";
import type { Resolved } from "./resolved.ts";

/** The sets of decisions whose variants are remembered at most. */
const maxSets = 32;

/** An image. */
interface PlacedMembers extends Members {
  /** The uid of the repo. */
  readonly repo: string;
  readonly digest: string;
}

/** What is known about components that were loaded. */
interface LoadedComponents {
  component(number: number): StoredComponent;
  findings(number: number): readonly Resolved[];
  /** What owns the files of a component; undefined if nothing does. */
  ownerOf(number: number): StoredComponent | undefined;
  /** The number of a component about which these are decided. */
  variantFor(number: number, decisions: readonly Decision[]): number;
}

/** What groups have decided about images, as long as nothing else is known about components. */
export class DecidedImages<I extends PlacedMembers> {
  readonly #decisions: DecisionSource;
  readonly #known: LoadedComponents;
  /** The images as they are where these decisions count. */
  readonly #images = new WeakMap<I, { readonly set: DecisionSet; readonly decided: I }>();
  /** By number that of its variant, plus 1; 0 where it is not known yet. */
  readonly #variants = new LruMap<DecisionSet, Uint32Array>(maxSets);

  constructor(decisions: DecisionSource, known: LoadedComponents) {
    this.#decisions = decisions;
    this.#known = known;
  }

  /** The images, whose components were loaded. */
  async decide(session: ReadSession, images: readonly I[]): Promise<readonly I[]> {
    const setOf = await this.#decisions.of(session, images);
    if (setOf === undefined) return images;
    const decided: I[] = [];
    for (const image of images) {
      const set = setOf(image);
      decided.push(set === undefined ? image : this.#decidedImage(image, set));
      await session.pause();
    }
    return decided.every((image, i) => image === images[i]) ? images : decided;
  }

  #decidedImage(image: I, set: DecisionSet): I {
    const known = this.#images.get(image);
    if (known?.set === set) return known.decided;
    const replaced = new Map<number, number>();
    for (const number of image.numbers) {
      const variant = this.#variantFor(number, set);
      if (variant !== number) replaced.set(number, variant);
    }
    const decided = replaced.size === 0 ? image : { ...image, ...renumbered(image, replaced) };
    this.#images.set(image, { set, decided });
    return decided;
  }

  /** The images with nothing but those of these components, which were loaded; as they are if nothing is decided. */
  async decideAmong(
    session: ReadSession,
    images: readonly I[],
    numbers: readonly number[],
    decisions: DecisionSource = this.#decisions,
  ): Promise<readonly I[]> {
    const setOf = await decisions.of(session, images);
    if (setOf === undefined) return images;
    const bySet = new Map<DecisionSet | undefined, ReadonlyMap<number, number>>();
    const some: I[] = [];
    for (const image of images) {
      const set = setOf(image);
      let variants = bySet.get(set);
      if (variants === undefined) {
        const variantOf = (number: number) => (set === undefined ? number : this.#variantFor(number, set));
        variants = new Map(numbers.map((number) => [number, variantOf(number)]));
        bySet.set(set, variants);
      }
      some.push({ ...image, ...membersAmong(image, variants) });
      await session.pause();
    }
    return some;
  }

  /** The number of a component where these decisions count: its own if none is about it. */
  #variantFor(number: number, set: DecisionSet): number {
    const known = this.#variants.get(set);
    const variants = known !== undefined && number < known.length ? known : longer(known, number + 1);
    if (variants !== known) this.#variants.set(set, variants);
    if (variants[number] === 0) variants[number] = this.#decidedNumber(number, set) + 1;
    return variants[number]! - 1;
  }

  #decidedNumber(number: number, set: DecisionSet): number {
    const component = this.#known.component(number);
    const findings = this.#known.findings(number);
    const owner = this.#known.ownerOf(number);
    const decisions = findings.flatMap(({ vulnerability }) =>
      decisionsAbout(set.about(vulnerability), component, owner),
    );
    return decisions.length === 0 ? number : this.#known.variantFor(number, [...new Set(decisions)]);
  }
}

function longer(numbers: Uint32Array = new Uint32Array(0), length: number): Uint32Array {
  const all = new Uint32Array(Math.max(length, 2 * numbers.length, 1024));
  all.set(numbers);
  return all;
}
