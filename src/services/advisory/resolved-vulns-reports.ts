/**
 * Reports of resolved vulnerabilities in images: one for each UTC day of a range, also for days without any. A day
 * lists the vulnerabilities with a `fixed` event on that day, for a package of an image that is at or above the fixed
 * version, as the tag of the image is now.
 *
 * Packages and advisories are matched by their package URLs: by type, namespace, distribution and name. A gap in the
 * data must not look like a day without fixes: an image that does not exist or has no list of packages is an error.
 * Packages and documents without a type, and packages that cannot be compared with a fix, are listed. Reports are not
 * stored: the uid is derived from the images and the day, and both times are the day.
 */
import { createHash } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type Document,
  type DocumentEvent,
  type ListResolvedVulnsReportsRequest,
  type ListResolvedVulnsReportsResponse,
  ListResolvedVulnsReportsResponseSchema,
  type ResolvedVuln,
  ResolvedVulnSchema,
  ResolvedVulnsReportSchema,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { scopesOf } from "../../auth/index.ts";
import { failedPrecondition, invalid, notFound } from "../../errors.ts";
import { fixedUid } from "../../new-uid.ts";
import { type PackageUrl, packageKind, packageName, packageVersion, parsePackageUrl } from "../../package-url.ts";
import {
  databaseOf,
  type ListRequest,
  listResponse,
  messageOf,
  messagePageLength,
  openList,
} from "../../resource/index.ts";
import { keyComparison, type ReadSession } from "../../store/index.ts";
import { type NamedImage, namedPackages } from "../registry/named-packages.ts";
import { documents, timeOf } from "./documents.ts";
import { type HeldPackages, holdPackages } from "./held-packages.ts";
import { severitiesOf } from "./severities.ts";

interface AskedImage {
  readonly field: "image_refs" | "images";
  readonly repo: string;
  readonly tag: string;
}

/** A vulnerability that was fixed on a day. */
interface Resolved {
  readonly id: string;
  readonly aliases: Set<string>;
}

const defaultTag = "latest";
const maxImages = 200;
const maxDays = 3660;
const dayMs = 86_400_000;
/** The documents that are read at once. */
const portion = 1000;
/** The packages and documents without a type or order that a response lists. All are counted. */
const maxListed = 100;
const maxViolations = 20;

/** The orders of reports. Both times of a report are its day. */
const sortable = {
  sortNames: {
    date: "date",
    uid: "uid",
    created_at: "date",
    create_time: "date",
    updated_at: "date",
    update_time: "date",
  },
  defaultOrder: [{ column: "date", descending: false }],
};

/** Lists reports. */
export async function listResolvedVulnsReports(
  request: ListResolvedVulnsReportsRequest,
  context: HandlerContext,
): Promise<ListResolvedVulnsReportsResponse> {
  const { query, order, after, pageSize, tokenAfter } = openList(
    sortable,
    request as ListResolvedVulnsReportsRequest & ListRequest,
    context,
  );
  const asked = imagesOf(query);
  const days = daysOf(query);
  const session = databaseOf(context);
  const images = await namedPackages(session, asked, scopesOf(context));
  requireImages(asked, images);
  const names = asked.map(({ repo, tag }, i) => `${images[i]!.repoUid ?? repo}:${tag}`).sort();

  const rows = days.map((date) => ({ date, uid: fixedUid("resolved-vulns-report", String(date), ...names) }));
  const keyOf = (row: (typeof rows)[number]) => [
    ...order.map(({ column }) => row[column as keyof typeof row]),
    row.uid,
  ];
  const compare = keyComparison(order);
  rows.sort((a, b) => compare(keyOf(a), keyOf(b)));
  const begin = after === undefined ? 0 : rows.filter((row) => compare(keyOf(row), after) <= 0).length;
  const rest = rows.slice(begin + request.skip);
  const page = rest.slice(0, pageSize);

  const held = holdPackages(images.map(({ packages = [] }) => packages));
  const { resolved, untyped, uncompared } = await resolvedByDay(session, held, new Set(page.map(({ date }) => date)));
  const vulns = await describe(session, resolved);
  const all = page.map(({ date, uid }) => reportOf(date, uid, vulns.get(date) ?? []));
  const reports = all.slice(0, messagePageLength(ResolvedVulnsReportSchema, all));
  const last = rest.length > reports.length ? page[reports.length - 1] : undefined;
  const response = listResponse(ListResolvedVulnsReportsResponseSchema, reports, {
    nextPageToken: last && tokenAfter(keyOf(last)),
    totalCount: rows.length,
    skipped: request.skip,
  }) as ListResolvedVulnsReportsResponse;
  return Object.assign(response, listedFields(held.untyped, untyped, uncompared));
}

/** The distinct images of a request. Errors: INVALID_ARGUMENT on `image_refs` or `images`. */
function imagesOf({ imageRefs, images }: ListResolvedVulnsReportsRequest): readonly AskedImage[] {
  const refs = imageRefs.flatMap(({ repo, tags }) =>
    (tags.length === 0 ? [defaultTag] : tags).map((tag) => ({ field: "image_refs" as const, repo, tag })),
  );
  const texts = images.map((text, i) => {
    const [, repo = "", tag = defaultTag] = /^(.*?)(?::([^:/]*))?$/s.exec(text)!;
    if (repo === "" || tag === "")
      throw invalid({ field: `images[${i}]`, description: `${JSON.stringify(text)} must be a repo, ":" and a tag` });
    return { field: "images" as const, repo, tag };
  });
  const asked = [...new Map([...refs, ...texts].map((image) => [`${image.repo}:${image.tag}`, image])).values()];
  if (asked.length === 0) throw invalid({ field: "images", description: "is required: at least one image" });
  if (asked.length > maxImages)
    throw invalid({ field: asked[0]!.field, description: `must name at most ${maxImages} images` });
  return asked;
}

/**
 * Requires that every image exists and has a list of packages.
 * Errors: INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION.
 */
function requireImages(asked: readonly AskedImage[], found: readonly NamedImage[]): void {
  const ambiguous = asked.find((_, i) => found[i]!.isAmbiguous);
  if (ambiguous !== undefined) {
    const description = `more than one repo is called ${JSON.stringify(ambiguous.repo)}; give its uid`;
    throw invalid({ field: ambiguous.field, description });
  }
  const missing = asked.find((_, i) => found[i]!.digest === undefined);
  if (missing !== undefined) throw notFound({ type: "registry.platform.internal/Image", uid: nameOf(missing) });
  const unlisted = asked.filter((_, i) => found[i]!.packages === undefined);
  if (unlisted.length === 0) return;
  const more = unlisted.length > maxViolations ? ` (${unlisted.length} images have none)` : "";
  const violations = unlisted.slice(0, maxViolations).map((image, i) => {
    const isLast = i === maxViolations - 1;
    const description = `image ${JSON.stringify(nameOf(image))} has no software bill of materials${isLast ? more : ""}`;
    return { type: "SBOM_MISSING", subject: nameOf(image), description };
  });
  throw failedPrecondition(violations);
}

function nameOf({ repo, tag }: AskedImage): string {
  return `${repo}:${tag}`;
}

/** The days from one time to another, both included, in milliseconds since 1970. Errors: INVALID_ARGUMENT. */
function daysOf({ startTime, endTime }: ListResolvedVulnsReportsRequest): number[] {
  if (startTime === undefined) throw invalid({ field: "start_time", description: "is required" });
  if (endTime === undefined) throw invalid({ field: "end_time", description: "is required" });
  const isReversed =
    endTime.seconds < startTime.seconds || (endTime.seconds === startTime.seconds && endTime.nanos < startTime.nanos);
  if (isReversed) throw invalid({ field: "end_time", description: "must not be before start_time" });
  const [first, last] = [dayOf(startTime), dayOf(endTime)];
  const count = (last - first) / dayMs + 1;
  if (count > maxDays)
    throw invalid({ field: "end_time", description: `must be within ${maxDays} days of start_time` });
  return Array.from({ length: count }, (_, i) => first + i * dayMs);
}

/** The day of a time, in milliseconds since 1970. */
function dayOf({ seconds }: Timestamp): number {
  return Math.floor(Number(seconds) / 86_400) * dayMs;
}

/**
 * The fixed vulnerabilities by day and id, the sorted ids of documents that have advisories of unknown type, and the
 * sorted names of packages that cannot be compared with a fix.
 */
async function resolvedByDay(session: ReadSession, held: HeldPackages, days: ReadonlySet<number>) {
  const resolved = new Map<number, Map<string, Resolved>>();
  const untyped = new Set<string>();
  const uncompared = new Set<string>();
  const urls = new Map<string, PackageUrl | undefined>();
  for await (const { id: document, advisories } of readDocuments(session, held.names)) {
    const typed = advisories.flatMap(({ id, aliases, events, packageUrl = "" }) => {
      if (!urls.has(packageUrl)) urls.set(packageUrl, parsePackageUrl(packageUrl));
      const url = urls.get(packageUrl);
      if (url === undefined) untyped.add(document);
      return url === undefined ? [] : [{ id, aliases, url, events: eventsThatHold(events, url) }];
    });
    const statements = Map.groupBy(typed.flatMap(statementOf), ({ id }) => id);
    for (const { id, aliases, events, url } of typed) {
      const name = packageName(url);
      const isFixedIn = (version: string): boolean => {
        const isFixed = held.areFixed(name, packageKind(url), version, statements.get(id));
        if (isFixed === undefined) uncompared.add(name);
        return isFixed === true;
      };
      for (const day of daysFixed(events, days, isFixedIn)) addResolved(resolved, day, id, aliases);
    }
  }
  return { resolved, untyped: [...untyped].sort(), uncompared: [...uncompared].sort() };
}

/** Of the statements about one version, the last one. */
function eventsThatHold(events: readonly DocumentEvent[], { version }: PackageUrl): readonly DocumentEvent[] {
  if (version === "" || events.length < 2) return events;
  return [events.reduce((last, event) => (timeOf(event) >= timeOf(last) ? event : last))];
}

/** What an advisory says about the version that it is about; empty if it is about all versions. */
function statementOf({ id, url, events }: { id: string; url: PackageUrl; events: readonly DocumentEvent[] }) {
  const version = packageVersion(url);
  const isOpen = events.some(({ data }) => data.case !== "fixed" && data.case !== "falsePositiveDetermination");
  return version === "" ? [] : [{ id, kind: packageKind(url), version, isOpen }];
}

/** The days of the events whose fixed version is reached. */
function daysFixed(
  events: readonly DocumentEvent[],
  days: ReadonlySet<number>,
  isFixedIn: (version: string) => boolean,
): number[] {
  return events.flatMap(({ timestamp, data }) => {
    if (data.case !== "fixed" || timestamp === undefined) return [];
    const day = dayOf(timestamp);
    return days.has(day) && isFixedIn(data.value.fixedVersion) ? [day] : [];
  });
}

function addResolved(
  all: Map<number, Map<string, Resolved>>,
  day: number,
  id: string,
  aliases: readonly string[],
): void {
  const ofDay = all.get(day) ?? new Map<string, Resolved>();
  const resolved = ofDay.get(id) ?? { id, aliases: new Set() };
  for (const alias of aliases) resolved.aliases.add(alias);
  all.set(day, ofDay.set(id, resolved));
}

async function* readDocuments(session: ReadSession, ids: readonly string[]): AsyncGenerator<Document> {
  for (let start = 0; start < ids.length; start += portion) {
    const where = [{ column: "id", in: ids.slice(start, start + portion) }];
    for await (const rows of session.pages(documents.table, { where, limit: portion }))
      for (const row of rows) yield messageOf(documents, row);
  }
}

/** The vulnerabilities of each day by id, with their ratings. */
async function describe(
  session: ReadSession,
  resolved: ReadonlyMap<number, ReadonlyMap<string, Resolved>>,
): Promise<ReadonlyMap<number, readonly ResolvedVuln[]>> {
  const all = [...resolved].flatMap(([day, ofDay]) =>
    [...ofDay.values()].map(({ id, aliases }) => ({ day, id, aliases: [...aliases].sort() })),
  );
  all.sort((a, b) => (a.id < b.id ? -1 : 1));
  const severities = await severitiesOf(
    session,
    all.map(({ id, aliases }) => [id, ...aliases]),
  );
  const result = new Map([...resolved.keys()].map((day): [number, ResolvedVuln[]] => [day, []]));
  for (const [i, { day, id, aliases }] of all.entries())
    result.get(day)!.push(create(ResolvedVulnSchema, { id, aliases, cvssSeverities: [...severities[i]!] }));
  return result;
}

/** The fields about packages and documents without a type, and packages that could not be compared. */
function listedFields(
  packages: readonly string[],
  untypedDocuments: readonly string[],
  uncompared: readonly string[],
): MessageInitShape<typeof ListResolvedVulnsReportsResponseSchema> {
  return {
    untypedPackages: packages.slice(0, maxListed),
    untypedPackageCount: packages.length,
    untypedDocuments: untypedDocuments.slice(0, maxListed),
    untypedDocumentCount: untypedDocuments.length,
    uncomparedPackages: uncompared.slice(0, maxListed),
    uncomparedPackageCount: uncompared.length,
  };
}

function reportOf(dateMs: number, uid: string, resolvedVulns: readonly ResolvedVuln[]) {
  const date = timestampFromMs(dateMs);
  const content = JSON.stringify(resolvedVulns.map(({ id, aliases, cvssSeverities }) => [id, aliases, cvssSeverities]));
  const etag = `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`;
  const vulns = [...resolvedVulns];
  return create(ResolvedVulnsReportSchema, {
    date,
    uid,
    createTime: date,
    updateTime: date,
    etag,
    resolvedVulns: vulns,
  });
}
