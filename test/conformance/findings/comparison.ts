/** Questions of how two images differ. */
import { comparePackageVersions } from "../../../src/versions/index.ts";
import type { Json } from "../contract.ts";
import { imageAnswer, imageIn, order, type Question } from "./answers.ts";
import { keyOf, purlOf, type RawPackage } from "./inputs.ts";
import type { ModelImage, Placed } from "./model.ts";
import type { FindingsWorld } from "./worlds.ts";

/** A comparison of two images that a caller who sees these groups may make; none where there are no such images. */
export function comparison(world: FindingsWorld, groups: readonly string[]): Question[] {
  const { random, model } = world;
  const all = model.images({ digests: model.digests(), groups }).filter(({ hasSbom }) => hasSbom);
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
