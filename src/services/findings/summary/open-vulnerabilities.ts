/** What is open in repos now, and how it differs from what was. */
import type { Finding_Level } from "../../../../gen/platform/findings/v1/findings_pb.ts";
import type { ReadSession, Selection } from "../../../store/index.ts";
import { loadImages, readImagesOf } from "../found-findings.ts";
import type { DecodedImage, Generation, KnownComponents } from "../known/components.ts";
import { sinceMsAt } from "../known/image-members.ts";
import { taggedImages } from "../selected-images.ts";
import { countsOf, type LevelNumbers, msOfDay } from "./stored-counts.ts";

/** A vulnerability that is open in a repo. */
interface OpenVulnerability {
  readonly level: Finding_Level;
  /** Its other ids. */
  readonly aliases: readonly string[];
  /** When it was first seen, in milliseconds since 1970. */
  firstSeenMs: number;
}

/** Those of a repo, by id. */
export type OpenVulnerabilities = ReadonlyMap<string, OpenVulnerability>;

/** What has been opened and resolved, by level. */
export interface Changes {
  readonly opened: LevelNumbers;
  readonly resolved: LevelNumbers;
}

/** What is open in the images below repos that tags name, by the uid of the repo; none for a repo without any. */
export async function openVulnerabilities(
  session: ReadSession,
  memory: KnownComponents,
  place: Selection,
): Promise<ReadonlyMap<string, OpenVulnerabilities>> {
  return memory.inTurn(session, async (turn) => {
    const known = await memory.open(session);
    const tagged = await readImagesOf(session, known, await taggedImages(session, place), turn);
    const { images } = await loadImages(session, known, tagged);
    const repos = new Map<string, OpenVulnerabilities>();
    for (const [repo, ofRepo] of Map.groupBy(images, (image) => image.repo)) {
      const open = openIn(known, await sinceByComponent(session, known, ofRepo));
      if (open.size > 0) repos.set(repo, open);
    }
    return repos;
  });
}

/** Since when one of the images has each component with something open, in milliseconds since 1970, by its number. */
async function sinceByComponent(
  session: ReadSession,
  known: Generation,
  images: readonly DecodedImage[],
): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>();
  for (const image of images) {
    for (let i = 0; i < image.numbers.length; i++) {
      const number = image.numbers[i]!;
      if (known.open(number).length === 0) continue;
      const sinceMs = sinceMsAt(image, i);
      found.set(number, Math.min(sinceMs, found.get(number) ?? sinceMs));
    }
    await session.pause();
  }
  return found;
}

function openIn(known: Generation, sinceOf: ReadonlyMap<number, number>): OpenVulnerabilities {
  const open = new Map<string, OpenVulnerability>();
  for (const [number, ofImageMs] of sinceOf)
    for (const { vulnerability, sinceMs } of known.open(number)) {
      const { id, level, aliases } = vulnerability;
      const firstSeenMs = Math.max(sinceMs, ofImageMs);
      const other = open.get(id);
      if (other === undefined) open.set(id, { level, aliases, firstSeenMs });
      else other.firstSeenMs = Math.min(other.firstSeenMs, firstSeenMs);
    }
  return open;
}

/**
 * What has changed since `before`. A vulnerability that has got another id, because its alias group has changed, has
 * been neither opened nor resolved.
 */
export function changesSince(before: ReadonlyMap<string, Finding_Level>, now: OpenVulnerabilities): Changes {
  const gone = new Map([...before].filter(([id]) => !now.has(id)));
  const opened: Finding_Level[] = [];
  for (const [id, { level, aliases }] of now) {
    if (before.has(id)) continue;
    const former = aliases.find((alias) => gone.has(alias));
    if (former === undefined) opened.push(level);
    else gone.delete(former);
  }
  return { opened: countsOf(opened), resolved: countsOf(gone.values()) };
}

/**
 * What has changed in a repo that was not counted before, while others are counted for the first time, too: what was
 * first seen on a day before has not been opened.
 */
export function firstChanges(now: OpenVulnerabilities, day: number): Changes {
  const opened = [...now.values()].filter(({ firstSeenMs }) => firstSeenMs >= msOfDay(day));
  return { opened: countsOf(opened.map(({ level }) => level)), resolved: countsOf([]) };
}
