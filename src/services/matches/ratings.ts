/** Ratings of vulnerabilities, as messages of the contract. */
import { Finding_Level } from "../../../gen/platform/findings/v1/findings_pb.ts";
import { type RaterKind, type Rating, type RatingFact, ratingThatCounts } from "../../matching/index.ts";

/** Distributions that rate. */
const distributions: ReadonlySet<string> = new Set(
  `almalinux alpaquita alpine azurelinux bellsoft chainguard debian echo mageia minimos openeuler opensuse oracle photon
  redhat rocky suse ubuntu wolfi`.split(/\s+/),
);

/**
 * A vulnerability is the same for all packages, and a distribution rates it in its own: who found it and who publishes
 * about the package count more.
 */
const order: readonly (readonly RaterKind[])[] = [["CNA", "GHSA"], ["NVD"], ["DISTRIBUTION"], ["SCANNER"]];

/** All ratings, each once, the one that counts first, then by source; and that one, if one has a level. */
export function ratingMessages(facts: readonly RatingFact[]) {
  const byText = new Map(facts.map((fact) => [JSON.stringify([fact.source, fact.vector, fact.word]), fact]));
  const ratings = [...byText]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([, { source, vector, word }]): Rating => ({
        kind: kindOf(source),
        source,
        ...(vector === "" ? { word } : { vector }),
      }),
    );
  const counting = ratingThatCounts(ratings, order);
  const first = ratings.filter((rating) => rating === counting?.rating);
  const messages = [...first, ...ratings.filter((rating) => rating !== counting?.rating)].map((rating) => {
    const { level, score } = ratingThatCounts([rating], order) ?? {};
    return { source: rating.source, vector: rating.vector ?? "", ...levelAndScore(level, score) };
  });
  return { messages, counting: counting && levelAndScore(counting.level, counting.score) };
}

function levelAndScore(level: keyof typeof Finding_Level | undefined, score: number | undefined) {
  return {
    level: level === undefined ? Finding_Level.UNSPECIFIED : Finding_Level[level],
    ...(score !== undefined && { score }),
  };
}

function kindOf(source: string): RaterKind {
  if (source === "nvd") return "NVD";
  if (source === "ghsa") return "GHSA";
  return distributions.has(source) ? "DISTRIBUTION" : "CNA";
}
