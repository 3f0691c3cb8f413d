/** Images as the contract shows them: with tags, and how many findings they have. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Finding_Level } from "../../../gen/platform/findings/v1/findings_pb.ts";
import {
  type Image,
  ImageSchema,
  type LevelCount,
  LevelCountSchema,
} from "../../../gen/platform/findings/v1/images_pb.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { eachComponent } from "../matches/image-body.ts";
import { imageComponents } from "../matches/tables.ts";
import { readImages } from "../registry/images.ts";
import { repos } from "../registry/repos.ts";
import { type Held, heldFindings } from "./found-findings.ts";
import { statesOf } from "./messages.ts";
import { tagsOf } from "./selected-images.ts";

/** Messages of these rows of image components, in their order. */
export async function imageViews(session: ReadSession, rows: readonly Row[]): Promise<Image[]> {
  const images = rows.map((row) => ({ uid: row.uid, repo: row.parent, digest: row.columns.digest as string, row }));
  const names = await session.getMany(repos.table, [...new Set(images.map(({ repo }) => repo))]);
  const tags = await tagsOf(session, images);
  const counts = await countsOf(
    session,
    images.map(({ uid }) => uid),
  );
  const platforms = new Map<string, readonly string[]>();
  for (const [repo, ofRepo] of Map.groupBy(images, (image) => image.repo)) {
    const known = await readImages(
      session,
      repo,
      ofRepo.map(({ digest }) => digest),
    );
    for (const { uid, digest } of ofRepo)
      platforms.set(
        uid,
        (known.get(digest)?.platforms ?? []).map(({ os, architecture, variant }) =>
          [os, architecture, variant].filter(Boolean).join("/"),
        ),
      );
  }
  return images.map(({ uid, repo, digest, row }) => {
    const { levels = [], oldestMs } = counts.get(uid) ?? {};
    let componentCount = 0;
    eachComponent(row.body, () => {
      componentCount++;
    });
    return create(ImageSchema, {
      repo,
      repoName: String(names.get(repo)?.columns.name ?? ""),
      digest,
      tags: [...tags.get(uid)!],
      platforms: [...new Set(platforms.get(uid))].sort(),
      componentCount,
      levelCounts: levels,
      ...(oldestMs !== undefined && { oldestFindingTime: timestampFromMs(oldestMs) }),
      hasSbom: row.columns.has_sbom === 1,
    });
  });
}

interface Counts {
  readonly levels: LevelCount[];
  readonly oldestMs: number | undefined;
}

/** The findings of images that are affected or under investigation, by the uid of the image. */
async function countsOf(session: ReadSession, uids: readonly string[]): Promise<ReadonlyMap<string, Counts>> {
  if (uids.length === 0) return new Map();
  const found = new Map<string, { readonly levels: Map<Finding_Level, number>; oldestMs: number }>();
  for (const { findings, images } of await heldFindings(session, { uids }, { states: statesOf([]) }))
    for (const { image, sinceMs } of images)
      for (const finding of findings) {
        const counts = found.get(image.uid) ?? { levels: new Map(), oldestMs: Number.POSITIVE_INFINITY };
        const { level } = finding.vulnerability;
        counts.levels.set(level, (counts.levels.get(level) ?? 0) + 1);
        counts.oldestMs = Math.min(counts.oldestMs, Math.max(finding.sinceMs, sinceMs));
        found.set(image.uid, counts);
      }
  return new Map([...found].map(([uid, { levels, oldestMs }]) => [uid, { levels: levelCounts(levels), oldestMs }]));
}

/** The most severe first. */
export function levelCounts(counts: ReadonlyMap<Finding_Level, number>): LevelCount[] {
  return [...counts].sort(([a], [b]) => b - a).map(([level, count]) => create(LevelCountSchema, { level, count }));
}

/** How many findings components have by level, each once. */
export function countLevels(findings: Held["findings"]): LevelCount[] {
  const counts = new Map<Finding_Level, number>();
  for (const { vulnerability } of findings) counts.set(vulnerability.level, (counts.get(vulnerability.level) ?? 0) + 1);
  return levelCounts(counts);
}

/** The rows of images by uid. */
export function imageRowsOf(session: ReadSession, uids: readonly string[]): Promise<Map<string, Row>> {
  return session.getMany(imageComponents, uids);
}
