/**
 * The findings of a selection of images, as a join that nothing stores: images contain components, and components have
 * findings. What a component has is computed once, however many images contain it, so the total is a sum over
 * components, and only the pairs of component and image that a page shows are made.
 */
import { isDistributionType } from "../../package-url.ts";
import type { ReadSession, Selection } from "../../store/index.ts";
import { rootOf } from "../../uid.ts";
import { decisionsAboutIds } from "../decisions/analyses.ts";
import { hasVex } from "../documents/vex-documents.ts";
import { componentsWith } from "../matches/component-matches.ts";
import type { DecodedImage, Generation, WideTurn } from "./known/components.ts";
import type { CountingFindings, FindingFilter } from "./known/counting-findings.ts";
import { decidedFinding, decisionsAbout } from "./known/decided-findings.ts";
import { byId, DecisionSet, uniformDecisions } from "./known/decisions.ts";
import { vulnerabilitiesNamed } from "./known/vulnerabilities.ts";
import { containing, imageRows } from "./selected-images.ts";

/** The findings that count, in some images. */
export interface FoundFindings {
  /** By uid, in order. */
  readonly images: readonly DecodedImage[];
  /** The numbers of components, which were loaded: each that may have a finding that counts in one of the images. */
  readonly numbers: Iterable<number>;
  readonly findings: CountingFindings;
  /** How many of the images contain each component, by its number; undefined if this was not counted. */
  readonly held: Uint32Array | undefined;
}

/** The findings in a selection of images that count. */
export async function findFindings(
  session: ReadSession,
  known: Generation,
  selection: Selection,
  filter: FindingFilter,
  turn: WideTurn,
): Promise<FoundFindings> {
  const findings = known.counting(filter);
  const asked = await componentsAsked(session, known, selection, filter);
  const images = await readImagesOf(session, known, containing(selection, asked?.ids), turn);
  if (asked !== undefined) {
    const undecided = asked.ids.flatMap((id) => known.undecidedNumbersOf(known.numberOf(id)));
    await known.load(session, undecided);
    const decided = asked.isDecided ? await known.decideAmong(session, images, undecided) : images;
    const numbers = decided === images ? undecided : new Set(decided.flatMap((image) => [...image.numbers]));
    return { images: decided, numbers, findings, held: undefined };
  }
  const { images: decided, held } = await loadImages(session, known, images);
  return { images: decided, numbers: numbersIn(held), findings, held };
}

/** Loads the components of images. Returns these with what groups have decided, and how many contain each component. */
export async function loadImages(session: ReadSession, known: Generation, images: readonly DecodedImage[]) {
  const held = await countMembers(session, known, images);
  const numbers = numbersIn(held);
  await known.load(session, numbers);
  const decided = await known.decide(session, images);
  return { images: decided, held: decided === images ? held : await countMembers(session, known, decided) };
}

/** Components with a finding of the vulnerabilities that are asked for. They are few, and an index finds the images. */
interface AskedComponents {
  readonly ids: readonly string[];
  /** Whether each image with one of them has a finding that counts: not if it may have another in some images. */
  readonly isExact: boolean;
  /** Whether groups have decided about findings of them. */
  readonly isDecided: boolean;
}

/** Undefined when no vulnerabilities are asked for. */
export async function componentsAsked(
  session: ReadSession,
  known: Generation,
  selection: Selection,
  filter: FindingFilter,
): Promise<AskedComponents | undefined> {
  const { vulnerabilityIds = [] } = filter;
  if (vulnerabilityIds.length === 0) return undefined;
  const named = await vulnerabilitiesNamed(session, vulnerabilityIds);
  const ids = await componentsWith(session, [...named.keys()]);
  const numbers = ids.map((id) => known.numberOf(id));
  await known.load(session, numbers);
  const decisions = await decisionsAboutIds(session, [...named.values()].flat());
  const places = placesOf(selection);
  // Which of many statements of VEX documents are about these is known when the images are.
  const isAnyVex = await hasVex(session, [...new Set(places.map(rootOf))]);
  const uniform = isAnyVex ? undefined : uniformDecisions(decisions, places, known.nowMs);
  const set = new DecisionSet([byId(uniform ?? [])]);
  const findings = known.counting(filter);
  const counts = (number: number) => {
    const component = known.component(number);
    return known
      .findings(number)
      .some((each) =>
        findings.counts(
          component,
          decidedFinding(each, component, decisionsAbout(set.about(each.vulnerability), component)),
        ),
      );
  };
  const isOfDistribution = (number: number) => isDistributionType(known.component(number).type);
  const isAnyOwner = numbers.some(isOfDistribution);
  const mayDiffer = (number: number) => uniform === undefined || (isAnyOwner && !isOfDistribution(number));
  return {
    ids: ids.filter((_, i) => mayDiffer(numbers[i]!) || counts(numbers[i]!)),
    isExact: !numbers.some(mayDiffer),
    isDecided: isAnyVex || decisions.length > 0,
  };
}

/** The uids that all images of a selection are below. */
function placesOf({ parent, within }: Selection): readonly string[] {
  if (parent !== undefined) return [parent];
  return within === undefined ? [""] : within.map(({ root }) => root);
}

/** How many images are not many. */
const fewImages = 1000;

/** The images of a selection, by uid. @param turn begins where they are many. */
export async function readImagesOf(
  session: ReadSession,
  known: Generation,
  selection: Selection,
  turn: WideTurn,
): Promise<DecodedImage[]> {
  const images: DecodedImage[] = [];
  for await (const rows of imageRows(session, selection)) {
    images.push(...(await known.decode(session, rows)));
    if (images.length >= fewImages) await turn.begin();
    await session.pause();
  }
  return images;
}

/** How many of the images contain each component, by its number. */
export async function countMembers(
  session: ReadSession,
  known: Generation,
  images: readonly DecodedImage[],
): Promise<Uint32Array> {
  const held = new Uint32Array(known.size);
  for (const { numbers } of images) {
    for (const number of numbers) held[number]!++;
    await session.pause();
  }
  return held;
}

/** The numbers of the components that any image contains. */
export function numbersIn(held: Uint32Array): Uint32Array {
  const numbers = new Uint32Array(held.length);
  let count = 0;
  for (let number = 0; number < held.length; number++) if (held[number]! > 0) numbers[count++] = number;
  return numbers.subarray(0, count);
}
