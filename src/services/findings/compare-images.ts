/** CompareImages: what was added, removed and changed from one image to another. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type CompareImagesRequest,
  CompareImagesResponseSchema,
  ComponentChangeSchema,
  FindingChangeSchema,
} from "../../../gen/platform/findings/v1/images_pb.ts";
import { scopesOf } from "../../auth/index.ts";
import { failedPrecondition } from "../../errors.ts";
import { packageKey } from "../../matching/index.ts";
import { databaseOf } from "../../resource/index.ts";
import { comparePackageVersions } from "../../versions/index.ts";
import type { StoredComponent } from "../matches/components.ts";
import { imageContents } from "../matches/tables.ts";
import { loadImages } from "./found-findings.ts";
import { type FoundImage, findImage } from "./image-names.ts";
import { imageViews } from "./image-views.ts";
import type { DecodedImage, Generation } from "./known/components.ts";
import { sinceMsAt } from "./known/image-members.ts";
import type { Resolved } from "./known/resolved.ts";
import { componentMessage, findingMessage } from "./messages.ts";

/** Errors: as the contract says. */
export async function compareImages(request: CompareImagesRequest, known: Generation, context: HandlerContext) {
  const session = databaseOf(context);
  const scopes = scopesOf(context);
  const base = await findImage(session, request.base, { field: "base", scopes });
  const target = await findImage(session, request.target, { field: "target", scopes, repo: base.repo });
  const rows = await session.getMany(imageContents, [base.uid, target.uid]);
  const without = [
    { image: base, field: "base" },
    { image: target, field: "target" },
  ].filter(({ image }) => rows.get(image.uid)?.columns.has_sbom !== 1);
  if (without.length > 0)
    throw failedPrecondition(
      without.map(({ image: { repo, digest }, field }) => ({
        type: "SBOM_MISSING",
        subject: `${repo}@${digest}`,
        description: `${field}: the image has no software bill of materials`,
      })),
    );
  const views = await imageViews(session, known, [rows.get(base.uid)!, rows.get(target.uid)!]);
  const decoded = await known.decode(session, [rows.get(base.uid)!, rows.get(target.uid)!]);
  const { images } = await loadImages(session, known, decoded);
  const [before, after] = [base, target].map((image, i) => sideOf(known, image, images[i]!, views[i]!.tags)) as [
    Side,
    Side,
  ];
  return create(CompareImagesResponseSchema, {
    base: views[0]!,
    target: views[1]!,
    components: componentChanges(before, after),
    findings: findingChanges(before, after),
  });
}

/** An image and what is in it. What is known about its components was loaded for its view. */
interface Side {
  readonly image: FoundImage;
  readonly tags: readonly string[];
  /** By id. */
  readonly components: ReadonlyMap<string, StoredComponent>;
  /** The components with something open, by purl. */
  readonly affected: readonly Affected[];
}

function sideOf(known: Generation, image: FoundImage, decoded: DecodedImage, tags: readonly string[]): Side {
  const components = new Map<string, StoredComponent>();
  const affected: Affected[] = [];
  for (const [place, number] of decoded.numbers.entries()) {
    const component = known.component(number);
    const open = known.open(number);
    components.set(component.id, component);
    if (open.length > 0) affected.push({ component, open, sinceMs: sinceMsAt(decoded, place) });
  }
  return { image, tags, components, affected: affected.sort((a, b) => byPurl(a.component, b.component)) };
}

/** Versions of a package that differ are pairs, in order; what has no other one of a pair is added or removed. */
function componentChanges(before: Side, after: Side) {
  const gone = byPackage([...before.components.values()].filter(({ id }) => !after.components.has(id)));
  const come = byPackage([...after.components.values()].filter(({ id }) => !before.components.has(id)));
  const changed = [...gone].flatMap(([key, olds]) => {
    const news = come.get(key) ?? [];
    return olds.slice(0, news.length).map((old, i) => ({ before: old, after: news[i]! }));
  });
  const isChanged = new Set(changed.flatMap((pair) => [pair.before.id, pair.after.id]));
  const rest = (some: ReadonlyMap<string, readonly StoredComponent[]>) =>
    [...some.values()].flat().filter(({ id }) => !isChanged.has(id));
  return {
    added: rest(come)
      .sort(byPurl)
      .map((each) => componentMessage(each)),
    removed: rest(gone)
      .sort(byPurl)
      .map((each) => componentMessage(each)),
    changed: changed
      .sort((a, b) => byPurl(a.before, b.before))
      .map((pair) =>
        create(ComponentChangeSchema, { before: componentMessage(pair.before), after: componentMessage(pair.after) }),
      ),
  };
}

/** By package, each in the order of versions. */
function byPackage(some: readonly StoredComponent[]): Map<string, StoredComponent[]> {
  const inOrder = [...some].sort((a, b) => comparePackageVersions(a.type, a.version, b.version) || byPurl(a, b));
  return Map.groupBy(inOrder, (component) => packageKey(component));
}

function byPurl(a: StoredComponent, b: StoredComponent): number {
  return a.purl < b.purl ? -1 : a.purl > b.purl ? 1 : 0;
}

/** A component with what is open of it. */
interface Affected {
  readonly component: StoredComponent;
  readonly open: readonly Resolved[];
  readonly sinceMs: number;
}

/** A vulnerability of a package that is open. */
interface OfPackage {
  readonly component: StoredComponent;
  readonly finding: Resolved;
  readonly sinceMs: number;
}

function findingChanges(before: Side, after: Side) {
  const [olds, news] = [findingsByPackage(before), findingsByPackage(after)];
  const message = (side: Side, { component, finding, sinceMs }: OfPackage) =>
    findingMessage(componentMessage(component), finding, { ...side.image, tags: side.tags, sinceMs });
  const only = (some: typeof olds, others: typeof olds, side: Side) =>
    sorted([...some].flatMap(([key, each]) => (others.has(key) ? [] : [each]))).map((each) => message(side, each));
  const both = [...olds].flatMap(([key, old]) => {
    const now = news.get(key);
    return now !== undefined && differ(old.finding, now.finding) ? [{ old, now }] : [];
  });
  return {
    opened: only(news, olds, after),
    resolved: only(olds, news, before),
    changed: both.map(({ old, now }) =>
      create(FindingChangeSchema, { before: message(before, old), after: message(after, now) }),
    ),
  };
}

/** By vulnerability and package; of several versions of a package the first. */
function findingsByPackage({ affected }: Side): Map<string, OfPackage> {
  const byPackage = new Map<string, OfPackage>();
  for (const { component, open, sinceMs } of affected) {
    const key = packageKey(component);
    for (const finding of open) {
      const ofPackage = `${finding.vulnerability.uid} ${key}`;
      if (!byPackage.has(ofPackage)) byPackage.set(ofPackage, { component, finding, sinceMs });
    }
  }
  return byPackage;
}

function sorted(some: readonly OfPackage[]): OfPackage[] {
  return [...some].sort(
    (a, b) =>
      b.finding.vulnerability.level - a.finding.vulnerability.level ||
      (a.finding.vulnerability.id < b.finding.vulnerability.id ? -1 : 1),
  );
}

function differ(a: Resolved, b: Resolved): boolean {
  const [x, y] = [a.statements[0]!.match, b.statements[0]!.match];
  return a.state !== b.state || x.fixState !== y.fixState || a.fixedVersion !== b.fixedVersion;
}
