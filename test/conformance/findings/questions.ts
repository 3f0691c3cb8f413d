/** Questions about a world, with the answers of the model, and of servers in the same form. */
import { imageUid } from "../../../src/services/registry/images.ts";
import { comparePackageVersions } from "../../../src/versions/index.ts";
import type { Json } from "../contract.ts";
import { levels, vulnerabilityAnswer, vulnerabilityIn } from "./groups.ts";
import { keyOf, purlOf, type RawPackage } from "./inputs.ts";
import {
  counts,
  isBelow,
  isWanted,
  type ModelFilter,
  type ModelFinding,
  type ModelImage,
  type Placed,
} from "./model.ts";
import { isOpen } from "./statements.ts";
import type { FindingsWorld } from "./worlds.ts";

/** Makes a call. Undefined when it is refused with NOT_FOUND. */
export type Ask = (method: string, request: Json) => Promise<Json | undefined>;

/** A question, and what answers must be. */
export interface Question {
  readonly text: string;
  readonly expected: unknown;
  /** Asks it. */
  ask(ask: Ask): Promise<unknown>;
}

/** What a caller may see, in the same questions. */
export interface Eyes {
  readonly groups: readonly string[];
}

const order = (sign: number, a: string | number, b: string | number) => (a < b ? -sign : a > b ? sign : 0);

/** Random questions about a world, by a caller who sees these groups. */
export function questionsOf(world: FindingsWorld, { groups }: Eyes): Question[] {
  const questions = [packages(world), ...vulnerabilities(world)];
  for (let i = 0; i < 6; i++) questions.push(findings(world, groups));
  for (let i = 0; i < 4; i++) questions.push(images(world, groups));
  for (let i = 0; i < 3; i++) questions.push(components(world, groups));
  questions.push(...single(world, groups), ...comparison(world, groups));
  return questions;
}

/** The members of a page, over all pages, and the total, which is the same on each. */
async function listed(ask: Ask, method: string, member: string, request: Json): Promise<readonly [Json[], number]> {
  const found: Json[] = [];
  const totals = new Set<number>();
  let pageToken = "";
  do {
    const page = await ask(method, { ...request, ...(pageToken !== "" && { pageToken, orderBy: undefined }) });
    if (page === undefined) return [[], -1];
    found.push(...(page[member] ?? []));
    totals.add(Number(page.totalCount ?? 0));
    pageToken = page.nextPageToken ?? "";
  } while (pageToken !== "");
  return [found, totals.size === 1 ? [...totals][0]! : -2];
}

function packages(world: FindingsWorld): Question {
  const asked = world.packages.filter(() => world.random.oneIn(2)).slice(0, 50);
  asked.push(world.packages[0]!);
  const states = world.random.oneIn(2) ? allStates : undefined;
  const queries = asked.map((each) => {
    const { origin, originVersion } = each;
    return { purl: purlOf(each), origin, originVersion };
  });
  const groups = world.model.groups();
  const expected = asked.map((each) =>
    world.model
      .findingsOf(each, groups)
      .filter((finding) => counts(finding, states === undefined ? {} : { states }))
      .sort(
        (a, b) =>
          order(-1, levels.indexOf(a.group.level), levels.indexOf(b.group.level)) ||
          order(-1, a.group.score ?? -1, b.group.score ?? -1) ||
          order(1, a.group.id, b.group.id),
      )
      .map((finding) => findingAnswer(world, finding)),
  );
  return {
    text: `QueryPackages ${queries.map(({ purl }) => purl)} ${states ?? ""}`,
    expected,
    async ask(ask) {
      const request = { queries, ...(states && { states: states.map((state) => `STATE_${state}`) }) };
      const answer = await ask("QueryPackages", request);
      return answer!.results.map(({ findings = [] }: Json) => findings.map((each: Json) => findingIn(world, each)));
    },
  };
}

function vulnerabilities(world: FindingsWorld): Question[] {
  const groups = world.model.groups();
  return [world.anyId(), world.anyId(), world.anyId()].flatMap((id) => {
    const named = groups.filter((group) => group.id === id || group.aliases.includes(id));
    if (named.length > 1) return [];
    return {
      text: `GetVulnerability ${id}`,
      expected: named[0] && vulnerabilityAnswer(named[0]),
      async ask(ask: Ask) {
        const answer = await ask("GetVulnerability", { uid: id });
        return answer && vulnerabilityIn(answer);
      },
    };
  });
}

const allStates = ["AFFECTED", "UNDER_INVESTIGATION", "FIXED", "NOT_AFFECTED"] as const;

/** A random filter by what findings are. */
function randomFilter({
  random,
  anyId,
  packages: all,
  ...world
}: Pick<FindingsWorld, "random" | "packages"> & { anyId(): string }): ModelFilter {
  void world;
  const some = <T>(values: readonly T[]) => values.filter(() => random.oneIn(2));
  const of = random.pick(all);
  const choices: ModelFilter[] = [
    {},
    { vulnerabilityIds: [anyId(), anyId()] },
    { levels: [...some(levels.slice(1)), "HIGH"] },
    { minEpss: random.below(100) / 100 },
    { knownExploited: random.oneIn(2) },
    { states: [...some(allStates), "FIXED"] },
    { states: [...allStates] },
  ];
  void of;
  return { ...random.pick(choices), ...random.pick(choices) };
}

function packageFilter({ random, packages: all }: FindingsWorld): ModelFilter {
  const of = random.pick(all);
  return random.pick<ModelFilter>([
    {},
    {},
    { purls: [purlOf(of), keyOf(random.pick(all), of.name)] },
    { packageNames: [of.name] },
    { types: [of.type] },
  ]);
}

function requestOf(filter: ModelFilter): Json {
  const { levels: wanted, states, fixStates, ...rest } = filter;
  return {
    ...rest,
    ...(wanted && { levels: wanted.map((level) => `LEVEL_${level}`) }),
    ...(states && { states: states.map((state) => `STATE_${state}`) }),
    ...(fixStates && { fixStates: fixStates.map((state) => `FIX_STATE_${state}`) }),
  };
}

/** A random choice of images, as a request and as the model has it. */
function randomPlace({ random, inputs, root, groups: all }: FindingsWorld, groups: readonly string[]) {
  const repo = random.pick(inputs.repos);
  const uidp = { descendantsOf: root };
  const tag = random.pick(["latest", "v1", "v2"]);
  return random.pick([
    { request: { uidp }, place: { groups } },
    { request: { uidp }, place: { groups } },
    { request: { uidp: { descendantsOf: all[0]! } }, place: { groups: groups.filter((each) => each === all[0]) } },
    { request: { uidp, repo: repo.uid }, place: { groups, repo: repo.uid } },
    { request: { uidp, tags: [tag] }, place: { groups, tags: [tag] } },
    { request: { uidp, onlyTagged: true }, place: { groups, onlyTagged: true } },
  ]);
}

/** The values of orders of findings. */
const findingValues: Readonly<Record<string, (of: Placed) => string | number>> = {
  level: ({ group }) => levels.indexOf(group.level),
  score: ({ group }) => group.score ?? -1,
  epss: ({ group }) => group.epss ?? -1,
  first_seen: ({ firstMs }) => firstMs,
  package: ({ purl }) => purl,
  vulnerability_id: ({ group }) => group.id,
  repo: ({ image }) => image.repo.uid,
  image: ({ image }) => imageUid(image.repo.uid, image.digest),
};

function findings(world: FindingsWorld, groups: readonly string[]): Question {
  const { random, model } = world;
  const filter = { ...randomFilter(filterOf(world)), ...packageFilter(world) };
  const withFix: ModelFilter = random.oneIn(4) ? { ...filter, fixStates: ["FIXED", "PENDING"] } : filter;
  const { request, place } = randomPlace(world, groups);
  const all = model.findings(model.images(place), withFix);
  const fields = ["level", "score", "epss", "package", "vulnerability_id", "repo"];
  if (!world.isTangled) fields.push("first_seen");
  const terms = random.oneIn(3)
    ? []
    : [...new Set([random.pick(fields), random.pick(fields)])].map((field) => ({
        field,
        sign: random.oneIn(2) ? 1 : -1,
      }));
  const between = world.isTangled || all.length === 0 || !random.oneIn(4) ? undefined : random.pick(all).firstMs;
  const kept = all.filter(({ firstMs }) => between === undefined || firstMs >= between);
  const by = terms.length > 0 ? terms : ["level", "score"].map((field) => ({ field, sign: -1 }));
  const ties = ["vulnerability_id", "package", "repo", "image"].filter((tie) => by.every(({ field }) => field !== tie));
  const complete = [...by, ...ties.map((field) => ({ field, sign: 1 }))];
  kept.sort((a, b) => {
    for (const { field, sign } of complete) {
      const compared = order(sign, findingValues[field]!(a), findingValues[field]!(b));
      if (compared !== 0) return compared;
    }
    return 0;
  });
  const asked = {
    ...request,
    ...requestOf(withFix),
    ...(terms.length > 0 && {
      orderBy: terms.map(({ field, sign }) => `${field} ${sign > 0 ? "asc" : "desc"}`).join(),
    }),
    ...(between !== undefined && { firstSeenAfter: new Date(between).toISOString() }),
    pageSize: 1 + random.below(30),
  };
  return {
    text: `ListFindings ${JSON.stringify(asked)}`,
    expected: [kept.map((each) => findingAnswer(world, each, each)), kept.length],
    async ask(ask) {
      const [messages, total] = await listed(ask, "ListFindings", "findings", asked);
      return [messages.map((each) => findingIn(world, each)), total];
    },
  };
}

function filterOf(world: FindingsWorld) {
  return { random: world.random, packages: world.packages, anyId: () => world.anyId() };
}

function images(world: FindingsWorld, groups: readonly string[]): Question {
  const { random, model, packages: all } = world;
  const filter = random.oneIn(2) ? {} : randomFilter(filterOf(world));
  const { request, place } = randomPlace(world, groups);
  let found = model.images(place);
  if (Object.keys(filter).length > 0) {
    const having = new Set(model.findings(found, filter).map(({ image }) => image));
    found = found.filter((image) => having.has(image));
  }
  const of = random.pick(all);
  const byPackage = random.pick<Json>([
    {},
    {},
    { purl: keyOf(of, of.name) },
    { purl: purlOf(of) },
    { purl: keyOf(of, of.name), version: `vers:${of.type}/<${of.version}` },
  ]);
  if (byPackage.purl !== undefined)
    found = model.withPackage(found, keyOf(of, of.name), (each) =>
      byPackage.version !== undefined
        ? isBelow(each, of.version)
        : byPackage.purl === keyOf(of, of.name) || each.version === of.version,
    );
  const hasSbom = random.oneIn(4) ? random.oneIn(2) : undefined;
  if (hasSbom !== undefined) found = found.filter((image) => image.hasSbom === hasSbom);
  const values: Readonly<Record<string, (of: ModelImage) => string | number>> = {
    repo: ({ repo }) => repo.uid,
    digest: ({ digest }) => digest,
    create_time: ({ createMs }) => createMs,
    uid: ({ repo, digest }) => imageUid(repo.uid, digest),
  };
  const field = random.pick([undefined, "digest", "repo", "create_time"]);
  const terms = field === undefined ? ["repo", "digest", "uid"] : [field, "uid"];
  const sign = random.oneIn(2) && field !== undefined ? -1 : 1;
  found.sort((a, b) => terms.map((each) => order(sign, values[each]!(a), values[each]!(b))).find((x) => x !== 0) ?? 0);
  const asked = {
    ...request,
    ...requestOf(filter),
    ...byPackage,
    ...(hasSbom !== undefined && { hasSbom }),
    ...(field !== undefined && { orderBy: `${field} ${sign > 0 ? "asc" : "desc"}` }),
    pageSize: 1 + random.below(10),
  };
  return {
    text: `ListImages ${JSON.stringify(asked)}`,
    expected: [found.map((image) => imageAnswer(world, image)), found.length],
    async ask(ask) {
      const [messages, total] = await listed(ask, "ListImages", "images", asked);
      return [messages.map((each) => imageIn(world, each)), total];
    },
  };
}

function components(world: FindingsWorld, groups: readonly string[]): Question {
  const { random, model } = world;
  const { request, place } = randomPlace(world, groups);
  const { tags, ...asked } = request as Json;
  const { tags: _, ...placed } = place as Json;
  const found = model.images(tags === undefined ? place : placed);
  const filter = packageFilter(world);
  const counted = new Map<string, { readonly of: RawPackage; readonly count: number }>();
  for (const image of found)
    for (const [purl, of] of image.components)
      if (isWanted(of, purl, filter)) counted.set(purl, { of, count: (counted.get(purl)?.count ?? 0) + 1 });
  const known = model.groups();
  const field = random.pick(["package", "version", "image_count", "default"] as const);
  const nameOf = ({ name, type, namespace }: RawPackage) => `${name} ${type} ${namespace}`;
  const expected = [...counted].map(([purl, { of, count }]) => ({
    purl,
    package: nameOf(of),
    version: of.version,
    image_count: count,
    default: `${nameOf(of)}\0${of.version}`,
    answer: [purl, count, levelsOf(model.findingsOf(of, known).filter((finding) => counts(finding, {})))],
  }));
  const sign = field !== "default" && random.oneIn(2) ? -1 : 1;
  expected.sort((a, b) => order(sign, a[field], b[field]) || order(1, a.purl, b.purl));
  const query = {
    ...asked,
    ...filter,
    ...(field !== "default" && { orderBy: `${field} ${sign > 0 ? "asc" : "desc"}` }),
    pageSize: 1 + random.below(20),
  };
  return {
    text: `ListComponents ${JSON.stringify(query)}`,
    expected: [expected.map(({ answer }) => answer), expected.length],
    async ask(ask) {
      const [messages, total] = await listed(ask, "ListComponents", "components", query);
      const parts = messages.map(({ component, imageCount, levelCounts }) => [
        component.purl,
        imageCount,
        levelCountsIn(levelCounts),
      ]);
      return [parts, total];
    },
  };
}

/** Images one by one, also those that a caller may not see, and the findings of each by its name. */
function single(world: FindingsWorld, groups: readonly string[]): Question[] {
  const { random, model } = world;
  const all = model.images({ digests: model.inputs.repos.flatMap(digestsOf) });
  return all
    .filter(() => random.oneIn(3))
    .flatMap((image) => {
      const { repo, digest, tags } = image;
      const isSeen = groups.includes(repo.group);
      const name = tags.length > 0 ? `${repo.uid}:${tags[0]}` : `${repo.name}@${digest}`;
      const ofImage = model.findings([image], { states: allStates });
      const answers = ofImage.map((each) => JSON.stringify(findingAnswer(world, each, each))).sort();
      return [
        {
          text: `GetImage ${repo.uid} ${digest}`,
          expected: isSeen ? imageAnswer(world, image) : undefined,
          async ask(ask: Ask) {
            const answer = await ask("GetImage", { repo: repo.uid, digest });
            return answer && imageIn(world, answer);
          },
        },
        {
          text: `ListFindings ${name}`,
          expected: isSeen ? [answers, answers.length] : [[], -1],
          async ask(ask: Ask) {
            const states = allStates.map((state) => `STATE_${state}`);
            const [messages, total] = await listed(ask, "ListFindings", "findings", { image: name, states });
            return [messages.map((each) => JSON.stringify(findingIn(world, each))).sort(), total];
          },
        },
      ];
    });
}

function digestsOf({ images: known, lists }: { images: Map<string, unknown>; lists: Map<string, unknown> }) {
  return [...known.keys(), ...lists.keys()];
}

function comparison(world: FindingsWorld, groups: readonly string[]): Question[] {
  const { random, model } = world;
  const all = model.images({ digests: model.inputs.repos.flatMap(digestsOf), groups }).filter(({ hasSbom }) => hasSbom);
  if (all.length === 0) return [];
  const [base, target] = [random.pick(all), random.pick(all)];
  const names = { base: `${base.repo.uid}@${base.digest}`, target: `${target.repo.name}@${target.digest}` };
  const only = (a: ModelImage, b: ModelImage) => [...a.components].filter(([purl]) => !b.components.has(purl));
  const [gone, come] = [only(base, target), only(target, base)].map((some) =>
    Map.groupBy(
      some
        .map(([, of]) => of)
        .sort((a, b) => comparePackageVersions(a.type, a.version, b.version)! || order(1, purlOf(a), purlOf(b))),
      (of) => keyOf(of, of.name),
    ),
  ) as [Map<string, RawPackage[]>, Map<string, RawPackage[]>];
  const changed: string[] = [];
  const rest = { added: [] as string[], removed: [] as string[] };
  for (const key of new Set([...gone.keys(), ...come.keys()])) {
    const [olds, news] = [gone.get(key) ?? [], come.get(key) ?? []];
    for (let i = 0; i < Math.max(olds.length, news.length); i++) {
      if (i < olds.length && i < news.length) changed.push(`${purlOf(olds[i]!)} ${purlOf(news[i]!)}`);
      else if (i < olds.length) rest.removed.push(purlOf(olds[i]!));
      else rest.added.push(purlOf(news[i]!));
    }
  }
  const firsts = (image: ModelImage) => {
    const found = new Map<string, Placed>();
    for (const each of model.findings([image]).sort((a, b) => order(1, a.purl, b.purl))) {
      const key = `${each.group.id} ${keyOf(each.component, each.component.name)}`;
      if (!found.has(key)) found.set(key, each);
    }
    return found;
  };
  const [before, after] = [firsts(base), firsts(target)];
  const texts = (a: Map<string, Placed>, b: Map<string, Placed>) =>
    [...a]
      .filter(([key]) => !b.has(key))
      .map(([, each]) => `${each.purl} ${each.group.id}`)
      .sort();
  const differing = [...before].filter(([key, old]) => {
    const now = after.get(key);
    const facts = ({ statements: [deciding], fixedVersion }: Placed) =>
      [deciding!.state, deciding!.fixState, fixedVersion].join();
    return now !== undefined && facts(old) !== facts(now);
  });
  return [
    {
      text: `CompareImages ${JSON.stringify(names)}`,
      expected: {
        added: rest.added.sort(),
        removed: rest.removed.sort(),
        changed: changed.sort(),
        opened: texts(after, before),
        resolved: texts(before, after),
        differing: differing.map(([, each]) => `${each.purl} ${each.group.id}`).sort(),
        images: [base, target].map((image) => imageAnswer(world, image)),
      },
      async ask(ask) {
        const answer = await ask("CompareImages", names);
        if (answer === undefined) return undefined;
        const { components: parts, findings: found } = answer;
        const purls = (some: Json[] = []) => some.map(({ purl }) => purl).sort();
        const ids = (some: Json[] = []) =>
          some.map(({ component, vulnerabilityId }) => `${component.purl} ${vulnerabilityId}`).sort();
        return {
          added: purls(parts.added),
          removed: purls(parts.removed),
          changed: (parts.changed ?? []).map((each: Json) => `${each.before.purl} ${each.after.purl}`).sort(),
          opened: ids(found.opened),
          resolved: ids(found.resolved),
          differing: ids((found.changed ?? []).map((each: Json) => each.before)),
          images: [imageIn(world, answer.base), imageIn(world, answer.target)],
        };
      },
    },
  ];
}

/** What of a finding is compared. @param placed absent without an image. */
function findingAnswer({ isTangled }: FindingsWorld, finding: ModelFinding, placed?: Placed): object {
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

function findingIn({ isTangled }: FindingsWorld, message: Json): object {
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

function imageAnswer({ model, isTangled }: FindingsWorld, image: ModelImage): object {
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

function imageIn({ isTangled }: FindingsWorld, message: Json): object {
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

function levelsOf(some: readonly ModelFinding[]): string {
  const byLevel = Map.groupBy(some, ({ group }) => group.level);
  return [...levels]
    .reverse()
    .flatMap((level) => (byLevel.has(level) ? `${level} ${byLevel.get(level)!.length}` : []))
    .join();
}

function levelCountsIn(levelCounts: readonly Json[] = []): string {
  return levelCounts
    .map(({ level, count }) => `${(level ?? "LEVEL_UNSPECIFIED").replace("LEVEL_", "")} ${count}`)
    .join();
}
