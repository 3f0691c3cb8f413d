/**
 * The findings of a selection of images, as a join that nothing stores: images contain components, and components have
 * findings. What a component has is computed once, however many images contain it, so the total is a sum over
 * components, and only the pairs of component and image that a page shows are made.
 */
import type { Finding_FixState, Finding_Level } from "../../../gen/platform/findings/v1/findings_pb.ts";
import type { FindingState } from "../../matching/index.ts";
import type { ReadSession, Selection } from "../../store/index.ts";
import { componentsWith } from "../matches/component-matches.ts";
import type { StoredComponent } from "../matches/components.ts";
import type { DecodedImage, Generation } from "./known-components.ts";
import { vulnerabilitiesNamed } from "./known-vulnerabilities.ts";
import { fixStates as fixStatesOf } from "./messages.ts";
import type { Resolved } from "./resolved.ts";
import { containing, imageRows } from "./selected-images.ts";

/** Which findings count. Absent members and empty sets do not restrict. */
export interface FindingFilter {
  readonly states: ReadonlySet<FindingState>;
  readonly vulnerabilityIds?: readonly string[];
  readonly levels?: ReadonlySet<Finding_Level>;
  readonly minEpss?: number | undefined;
  readonly knownExploited?: boolean | undefined;
  readonly fixStates?: ReadonlySet<Finding_FixState>;
  /** Which components count. */
  readonly isWanted?: ((component: StoredComponent) => boolean) | undefined;
}

/** The findings that count, of the components of some images. */
export interface FoundFindings {
  /** By uid, in order. */
  readonly images: readonly DecodedImage[];
  /** Of each component that has any, by its number. */
  readonly findings: ReadonlyMap<number, readonly Resolved[]>;
}

/** The components that are filtered at once. */
const portion = 1000;

/** The findings in a selection of images that count. */
export async function findFindings(
  session: ReadSession,
  known: Generation,
  selection: Selection,
  filter: FindingFilter,
): Promise<FoundFindings> {
  const asked = await componentsAsked(session, known, filter);
  const images = await readImagesOf(session, known, containing(selection, asked));
  const numbers = asked?.map((id) => known.numberOf(id)) ?? (await distinctNumbers(session, known, images));
  await known.load(session, numbers);
  const findings = new Map<number, readonly Resolved[]>();
  for (let start = 0; start < numbers.length; start += portion) {
    const some = countingOf(known, numbers.slice(start, start + portion), filter);
    for (const [number, counting] of some) findings.set(number, counting);
    await session.pause();
  }
  return { images, findings };
}

/**
 * The ids of the components with a finding of the vulnerabilities that are asked for; undefined when none are. They are
 * few, and an index finds the images.
 */
export async function componentsAsked(
  session: ReadSession,
  known: Generation,
  filter: FindingFilter,
): Promise<string[] | undefined> {
  const { vulnerabilityIds = [] } = filter;
  if (vulnerabilityIds.length === 0) return undefined;
  const ids = await componentsWith(session, await vulnerabilitiesNamed(session, vulnerabilityIds));
  await known.load(
    session,
    ids.map((id) => known.numberOf(id)),
  );
  return ids.filter((id) => countingOf(known, [known.numberOf(id)], filter).size > 0);
}

/** The findings of these components that count, by number. */
export function countingOf(
  known: Generation,
  numbers: Iterable<number>,
  filter: FindingFilter,
): Map<number, readonly Resolved[]> {
  const ids = new Set(filter.vulnerabilityIds);
  const found = new Map<number, readonly Resolved[]>();
  const isCounting = (finding: Resolved) => counts(finding, filter, ids);
  for (const number of numbers) {
    const all = known.findings(number);
    // Most have none that count: these make no garbage.
    if (!all.some(isCounting) || filter.isWanted?.(known.component(number)) === false) continue;
    found.set(number, all.every(isCounting) ? all : all.filter(isCounting));
  }
  return found;
}

/** The images of a selection, by uid. */
export async function readImagesOf(
  session: ReadSession,
  known: Generation,
  selection: Selection,
): Promise<DecodedImage[]> {
  const images: DecodedImage[] = [];
  for await (const rows of imageRows(session, selection)) {
    images.push(...(await known.decode(session, rows)));
    await session.pause();
  }
  return images;
}

/** The numbers of the components of images, each once. */
export async function distinctNumbers(
  session: ReadSession,
  known: Generation,
  images: readonly DecodedImage[],
): Promise<number[]> {
  const isSeen = new Uint8Array(known.size);
  const found: number[] = [];
  for (const { numbers } of images) {
    for (const number of numbers) {
      if (isSeen[number] === 1) continue;
      isSeen[number] = 1;
      found.push(number);
    }
    await session.pause();
  }
  return found;
}

function counts({ vulnerability, state, statements }: Resolved, filter: FindingFilter, ids: ReadonlySet<string>) {
  const { states, levels, minEpss, knownExploited, fixStates } = filter;
  const { level, epss, id, aliases } = vulnerability;
  return (
    states.has(state) &&
    (ids.size === 0 || ids.has(id) || aliases.some((alias) => ids.has(alias))) &&
    (levels === undefined || levels.size === 0 || levels.has(level)) &&
    (minEpss === undefined || (epss ?? -1) >= minEpss) &&
    (knownExploited === undefined || vulnerability.knownExploited === knownExploited) &&
    (fixStates === undefined || fixStates.size === 0 || fixStates.has(fixStatesOf[statements[0]!.match.fixState]))
  );
}
