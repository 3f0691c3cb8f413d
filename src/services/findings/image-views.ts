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
import { readImages } from "../registry/images.ts";
import { repos } from "../registry/repos.ts";
import { loadImages } from "./found-findings.ts";
import type { DecodedImage, Generation } from "./known/components.ts";
import { sinceMsAt } from "./known/image-members.ts";
import type { Resolved } from "./known/resolved.ts";
import { tagsOf } from "./selected-images.ts";

/** Messages of these rows of image components, in their order. */
export async function imageViews(session: ReadSession, known: Generation, rows: readonly Row[]): Promise<Image[]> {
  const images = rows.map((row) => ({ uid: row.uid, repo: row.parent, digest: row.columns.digest as string, row }));
  const names = await session.getMany(repos.table, [...new Set(images.map(({ repo }) => repo))]);
  const tags = await tagsOf(session, images);
  const { images: decoded } = await loadImages(session, known, await known.decode(session, rows));
  const platforms = new Map<string, string[]>();
  for (const [repo, ofRepo] of Map.groupBy(images, (image) => image.repo)) {
    const digests = ofRepo.map(({ digest }) => digest);
    const stored = await readImages(session, repo, digests);
    for (const { uid, digest } of ofRepo) {
      const texts = (stored.get(digest)?.platforms ?? []).map(({ os, architecture, variant }) =>
        [os, architecture, variant].filter(Boolean).join("/"),
      );
      platforms.set(uid, [...new Set(texts)].sort());
    }
  }
  return images.map(({ uid, repo, digest, row }, i) => {
    const { levels, oldestMs } = countsOf(known, decoded[i]!);
    return create(ImageSchema, {
      repo,
      repoName: String(names.get(repo)?.columns.name ?? ""),
      digest,
      tags: [...tags.get(uid)!],
      platforms: platforms.get(uid)!,
      componentCount: decoded[i]!.numbers.length,
      levelCounts: levels,
      ...(oldestMs !== undefined && { oldestFindingTime: timestampFromMs(oldestMs) }),
      hasSbom: row.columns.has_sbom === 1,
    });
  });
}

/** The findings of an image that are affected or under investigation, and when the oldest was first seen. */
function countsOf(known: Generation, image: DecodedImage) {
  const { numbers } = image;
  const counts: number[] = [];
  let oldestMs: number | undefined;
  // Without iterators and maps: there are hundreds of components for each image of a page.
  for (let i = 0; i < numbers.length; i++) {
    const open = known.open(numbers[i]!);
    for (let k = 0; k < open.length; k++) {
      const { vulnerability, sinceMs } = open[k]!;
      counts[vulnerability.level] = (counts[vulnerability.level] ?? 0) + 1;
      const firstMs = Math.max(sinceMs, sinceMsAt(image, i));
      if (oldestMs === undefined || firstMs < oldestMs) oldestMs = firstMs;
    }
  }
  return { levels: levelCounts(counts), oldestMs };
}

/** The most severe first. @param counts by level. */
function levelCounts(counts: readonly number[]): LevelCount[] {
  return counts.flatMap((count, level) => create(LevelCountSchema, { level: level as Finding_Level, count })).reverse();
}

/** How many findings there are by level. */
export function countLevels(findings: Iterable<Resolved>): LevelCount[] {
  const counts: number[] = [];
  for (const { vulnerability } of findings) counts[vulnerability.level] = (counts[vulnerability.level] ?? 0) + 1;
  return levelCounts(counts);
}
