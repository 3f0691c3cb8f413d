/** Questions about a world, with the answers of the model, and of servers in the same form. */
import { imageUid } from "../../../src/services/registry/images.ts";
import type { Json } from "../contract.ts";
import {
  type Ask,
  findingAnswer,
  findingIn,
  imageAnswer,
  imageIn,
  levelCountsIn,
  levelsOf,
  order,
  type Question,
} from "./answers.ts";
import { comparison } from "./comparison.ts";
import { levels, vulnerabilityAnswer, vulnerabilityIn } from "./groups.ts";
import { keyOf, purlOf, type RawListed, type RawPackage } from "./inputs.ts";
import { counts, isBelow, isWanted, type ModelFilter, type ModelImage, type Placed } from "./model.ts";
import type { FindingsWorld } from "./worlds.ts";

/** Random questions about a world, by a caller who sees these groups. */
export function questionsOf(world: FindingsWorld, groups: readonly string[]): Question[] {
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
  const asked = world.packages.filter(() => world.random.oneIn(2)).slice(0, 20);
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

const allStates = ["AFFECTED", "UNDER_INVESTIGATION", "FIXED", "NOT_AFFECTED", "ACCEPTED"] as const;

/** A random filter by what findings are. */
function randomFilter(world: FindingsWorld): ModelFilter {
  const { random } = world;
  const some = <T>(values: readonly T[]) => values.filter(() => random.oneIn(2));
  const choices: ModelFilter[] = [
    {},
    { vulnerabilityIds: [world.anyId(), world.anyId()] },
    { levels: [...some(levels.slice(1)), "HIGH"] },
    { minEpss: random.below(100) / 100 },
    { knownExploited: random.oneIn(2) },
    { states: [...some(allStates), "FIXED"] },
    { states: [...allStates] },
  ];
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
  const filter = { ...randomFilter(world), ...packageFilter(world) };
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

function images(world: FindingsWorld, groups: readonly string[]): Question {
  const { random, model, packages: all } = world;
  const filter = random.oneIn(2) ? {} : randomFilter(world);
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
  const counted = new Map<string, { readonly of: RawListed; readonly image: ModelImage }[]>();
  for (const image of found)
    for (const [purl, of] of image.components)
      if (isWanted(of, purl, filter)) counted.set(purl, [...(counted.get(purl) ?? []), { of, image }]);
  const known = model.groups();
  const field = random.pick(["package", "version", "image_count", "default"] as const);
  const nameOf = ({ name, type, namespace }: RawPackage) => `${name} ${type} ${namespace}`;
  const openOf = (held: readonly { readonly of: RawListed; readonly image: ModelImage }[]) => {
    const open = held
      .flatMap(({ of, image }) => model.findingsIn(of, image, known))
      .filter((finding) => counts(finding, {}));
    return [...new Map(open.map((finding) => [finding.group, finding])).values()];
  };
  const expected = [...counted].map(([purl, held]) => ({
    purl,
    package: nameOf(held[0]!.of),
    version: held[0]!.of.version,
    image_count: held.length,
    default: `${nameOf(held[0]!.of)}\0${held[0]!.of.version}`,
    answer: [purl, held.length, levelsOf(openOf(held))],
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
  const all = model.images({ digests: model.digests() });
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
