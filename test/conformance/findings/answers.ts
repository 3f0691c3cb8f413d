/** Questions about a world, and the forms in which answers of the model and of servers are compared. */
import type { Json } from "../contract.ts";
import { levels } from "./groups.ts";
import type { FindingsModel, ModelFinding, ModelImage, Placed } from "./model.ts";
import { isOpen } from "./statements.ts";

/** Makes a call. Undefined when it is refused with NOT_FOUND. */
export type Ask = (method: string, request: Json) => Promise<Json | undefined>;

/** A question, and what answers must be. */
export interface Question {
  readonly text: string;
  readonly expected: unknown;
  /** Asks it. */
  ask(ask: Ask): Promise<unknown>;
}

/** The world, as far as answers depend on it. */
interface Told {
  readonly model: FindingsModel;
  /** Then times are left out. */
  readonly isTangled: boolean;
}

/** Compares two values. @param sign -1 for the greatest first. */
export function order(sign: number, a: string | number, b: string | number): number {
  return a < b ? -sign : a > b ? sign : 0;
}

/** What of a finding is compared. @param placed absent without an image. */
export function findingAnswer({ isTangled }: Told, finding: ModelFinding, placed?: Placed): object {
  const { group, purl, statements, fixedVersion, sinceMs } = finding;
  const [deciding] = statements;
  return {
    repo: placed?.image.repo.uid ?? "",
    digest: placed?.image.digest ?? "",
    tags: placed?.image.tags ?? [],
    purl,
    id: group.id,
    aliases: group.aliases,
    said: [deciding!.state, deciding!.justification, deciding!.fixState, fixedVersion, deciding!.confidence],
    level: group.level,
    score: group.score,
    epss: group.epss,
    exploited: group.exploited !== undefined,
    ...(!isTangled && { firstMs: placed?.firstMs ?? sinceMs }),
    assertions: statements.map(({ feed, id, state, fixState, fixedVersion: fix, justification, confidence, ...each }) =>
      [feed, id, state, fixState, fix, justification, confidence, ...(isTangled ? [] : [each.sinceMs])].join(),
    ),
  };
}

export function findingIn({ isTangled }: Told, message: Json): object {
  const short = (text: string | undefined, prefix: string) => (text ?? "UNSPECIFIED").replace(prefix, "");
  const said = (of: Json) => [
    short(of.state, "STATE_"),
    short(of.fixState, "FIX_STATE_"),
    of.fixedVersion ?? "",
    short(of.justification, "JUSTIFICATION_"),
    short(of.confidence, "CONFIDENCE_"),
  ];
  const [state, fixState, fixedVersion, justification, confidence] = said(message);
  return {
    repo: message.repo ?? "",
    digest: message.digest ?? "",
    tags: message.tags ?? [],
    purl: message.component.purl,
    id: message.vulnerabilityId,
    aliases: [...(message.aliases ?? [])].sort(),
    said: [state, justification, fixState, fixedVersion, confidence],
    level: short(message.level, "LEVEL_"),
    score: message.score,
    epss: message.epss,
    exploited: message.knownExploited ?? false,
    ...(!isTangled && { firstMs: Date.parse(message.firstSeen) }),
    assertions: message.assertions.map((each: Json) =>
      [each.source, each.id, ...said(each), ...(isTangled ? [] : [Date.parse(each.since)])].join(),
    ),
  };
}

export function imageAnswer({ model, isTangled }: Told, image: ModelImage): object {
  const open = model.findings([image]).filter(({ statements: [deciding] }) => isOpen(deciding!));
  return {
    repo: image.repo.uid,
    name: image.repo.name,
    digest: image.digest,
    tags: image.tags,
    platforms: image.platforms,
    components: image.components.size,
    levels: levelsOf(open),
    hasSbom: image.hasSbom,
    ...(!isTangled && { oldestMs: open.length === 0 ? undefined : Math.min(...open.map(({ firstMs }) => firstMs)) }),
  };
}

export function imageIn({ isTangled }: Told, message: Json): object {
  const oldest = message.oldestFindingTime;
  return {
    repo: message.repo,
    name: message.repoName,
    digest: message.digest,
    tags: message.tags ?? [],
    platforms: (message.platforms ?? []).length,
    components: message.componentCount ?? 0,
    levels: levelCountsIn(message.levelCounts),
    hasSbom: message.hasSbom ?? false,
    ...(!isTangled && { oldestMs: oldest === undefined ? undefined : Date.parse(oldest) }),
  };
}

export function levelsOf(some: readonly ModelFinding[]): string {
  const byLevel = Map.groupBy(some, ({ group }) => group.level);
  return [...levels]
    .reverse()
    .flatMap((level) => (byLevel.has(level) ? `${level} ${byLevel.get(level)!.length}` : []))
    .join();
}

export function levelCountsIn(levelCounts: readonly Json[] = []): string {
  return levelCounts
    .map(({ level, count }) => `${(level ?? "LEVEL_UNSPECIFIED").replace("LEVEL_", "")} ${count}`)
    .join();
}
