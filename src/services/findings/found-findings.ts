/**
 * The findings of a selection of images, as a join that nothing stores: images contain components, and components have
 * findings. What a component has is computed once, however many images contain it, so the total is a sum over
 * components and a page is made of those pairs only that it shows.
 */
import type { Finding_FixState, Finding_Level } from "../../../gen/platform/findings/v1/findings_pb.ts";
import type { FindingState } from "../../matching/index.ts";
import type { ReadSession, Selection } from "../../store/index.ts";
import { type Match, matchesOf, readMatches } from "../matches/component-matches.ts";
import { readComponents, type StoredComponent } from "../matches/components.ts";
import { eachComponent } from "../matches/image-body.ts";
import { vulnerabilitiesNamed } from "./known-vulnerabilities.ts";
import { fixStates as fixStatesOf } from "./messages.ts";
import { type Resolved, resolveAll } from "./resolved.ts";
import { imageRows } from "./selected-images.ts";

/** Which findings count. Absent members and empty lists do not restrict. */
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

/** A component, what is known about it, and the images that contain it. */
export interface Held {
  readonly component: StoredComponent;
  /** Those that count. */
  readonly findings: readonly Resolved[];
  /** The images of the selection that contain it, by their uids in order, with the time since when. */
  readonly images: readonly ImageOf[];
}

/** An image that contains a component. */
export interface ImageOf {
  readonly image: SelectedImage;
  /** In milliseconds since 1970. */
  readonly sinceMs: number;
}

/** An image of a selection. */
export interface SelectedImage {
  readonly uid: string;
  readonly repo: string;
  readonly digest: string;
}

/**
 * The components of the images of a selection that have findings which count. @param selection of images.
 */
export async function heldFindings(
  session: ReadSession,
  selection: Selection,
  filter: FindingFilter,
): Promise<readonly Held[]> {
  const named = filter.vulnerabilityIds ?? [];
  // With vulnerabilities, few components are asked for, and an index finds the images.
  const asked = named.length === 0 ? undefined : await matchesOf(session, await vulnerabilitiesNamed(session, named));
  if (asked?.size === 0) return [];
  const within: Selection =
    asked === undefined
      ? selection
      : { ...selection, where: [...(selection.where ?? []), { column: "components", hasAny: [...asked.keys()] }] };
  const images = await imagesByComponent(session, within, asked);
  // The other statements about these components belong to other vulnerabilities, so the ones asked for are complete.
  const matches = asked ?? (await readMatches(session, [...images.keys()]));
  return countingOf(session, images, matches, filter);
}

/** The findings of components that count. */
export async function countingOf(
  session: ReadSession,
  images: ReadonlyMap<string, readonly ImageOf[]>,
  matches: ReadonlyMap<string, readonly Match[]>,
  filter: FindingFilter,
): Promise<readonly Held[]> {
  const ids = [...matches.keys()].filter((id) => images.has(id));
  const components = await readComponents(session, ids);
  const wanted = new Map(
    [...components].filter(([, component]) => filter.isWanted === undefined || filter.isWanted(component)),
  );
  const ofWanted = new Map([...wanted.keys()].map((id) => [id, matches.get(id)!]));
  const resolved = await resolveAll(session, ofWanted, (id) => wanted.get(id)!);
  return [...resolved].flatMap(([id, all]) => {
    const findings = all.filter((finding) => counts(finding, filter));
    return findings.length === 0 ? [] : [{ component: wanted.get(id)!, findings, images: images.get(id)! }];
  });
}

/** The images of a selection by the components that they contain. @param only the components to look for. */
export async function imagesByComponent(
  session: ReadSession,
  selection: Selection,
  only?: { has(id: string): boolean } | undefined,
): Promise<Map<string, ImageOf[]>> {
  const found = new Map<string, ImageOf[]>();
  for await (const rows of imageRows(session, selection)) {
    for (const { uid, parent, columns, body } of rows) {
      const image = { uid, repo: parent, digest: columns.digest as string };
      eachComponent(body, (id, sinceMs) => {
        if (only !== undefined && !only.has(id)) return;
        const images = found.get(id);
        if (images === undefined) found.set(id, [{ image, sinceMs }]);
        else images.push({ image, sinceMs });
      });
      await session.pause();
    }
  }
  return found;
}

function counts({ vulnerability, state, statements }: Resolved, filter: FindingFilter): boolean {
  const { states, levels, minEpss, knownExploited, fixStates } = filter;
  const { level, epss } = vulnerability;
  return (
    states.has(state) &&
    (levels === undefined || levels.size === 0 || levels.has(level)) &&
    (minEpss === undefined || (epss ?? -1) >= minEpss) &&
    (knownExploited === undefined || vulnerability.knownExploited === knownExploited) &&
    (fixStates === undefined || fixStates.size === 0 || fixStates.has(fixStatesOf[statements[0]!.fixState]))
  );
}
