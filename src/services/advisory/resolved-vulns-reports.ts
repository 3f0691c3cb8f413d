/**
 * Reports of what was resolved in images: one for each UTC day of a range, days without news included. A day lists the vulnerabilities with a
 * `fixed` event on it, for a package that an image holds, as its tag stands now, at or above the fixed version.
 *
 * Packages and advisories meet by their package URLs: by type, namespace, distribution and name. Whatever could make a day look as if nothing was
 * resolved is told: an image that does not exist or has no list of packages is an error, packages and documents without a type are named. Reports
 * are stored nowhere: a uid follows from the images and the day, and both times of a report are its day's.
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
import { type PackageUrl, packageKind, packageName, parsePackageUrl } from "../../package-url.ts";
import {
  databaseOf,
  type ListRequest,
  listResponse,
  messageOf,
  messagePageLength,
  openList,
} from "../../resource/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { fixedUid } from "../../uid.ts";
import { documents } from "./documents.ts";
import { type HeldPackage, type HeldPackages, holdPackages } from "./held-packages.ts";
import { severitiesOf } from "./severities.ts";

/** An image as it was found. */
interface FoundImage {
  readonly repoUid?: string;
  readonly isAmbiguous: boolean;
  /** Absent where there is no such image. */
  readonly digest?: string;
  /** Absent where the image has no bill of materials. */
  readonly packages?: readonly HeldPackage[];
}

/** Finds images by the uid or name of their repo and a tag, in the scopes given. */
export type ImageSource = (
  session: ReadSession,
  images: readonly { readonly repo: string; readonly tag: string }[],
  scopes: readonly string[],
) => Promise<readonly FoundImage[]>;

interface AskedImage {
  readonly field: "image_refs" | "images";
  readonly repo: string;
  readonly tag: string;
}

/** A vulnerability on the day of its fix. */
interface Resolved {
  readonly id: string;
  readonly aliases: Set<string>;
}

const defaultTag = "latest";
const maxImages = 200;
const maxDays = 3660;
const dayMs = 86_400_000;
/** Documents read at once. */
const portion = 1000;
/** What has no type is named up to here, and counted beyond. */
const maxUntyped = 100;
const maxViolations = 20;

/** What reports can be ordered by: the times of a report are its day's. */
const sortable = {
  sortNames: {
    date: "date",
    uid: "uid",
    ...Object.fromEntries(
      ["created_at", "create_time", "createTime", "updated_at", "update_time", "updateTime"].map((name) => [
        name,
        "date",
      ]),
    ),
  },
  defaultOrder: [{ column: "date", descending: false }],
};

/** The method that lists reports. */
export function resolvedVulnsReports(findImages: ImageSource) {
  return async (
    request: ListResolvedVulnsReportsRequest,
    context: HandlerContext,
  ): Promise<ListResolvedVulnsReportsResponse> => {
    const { query, order, after, pageSize, tokenAfter } = openList(
      sortable,
      request as ListResolvedVulnsReportsRequest & ListRequest,
      context,
    );
    const asked = imagesOf(query);
    const days = daysOf(query);
    const session = databaseOf(context);
    const images = await findImages(session, asked, scopesOf(context));
    requireImages(asked, images);
    const names = asked.map(({ repo, tag }, i) => `${images[i]!.repoUid ?? repo}:${tag}`).sort();

    const rows = days.map((date) => ({ date, uid: fixedUid("resolved-vulns-report", String(date), ...names) }));
    const keyOf = (row: (typeof rows)[number]) => [
      ...order.map(({ column }) => row[column as keyof typeof row]),
      row.uid,
    ];
    const compare = comparator(order);
    rows.sort((a, b) => compare(keyOf(a), keyOf(b)));
    const begin = after === undefined ? 0 : rows.filter((row) => compare(keyOf(row), after) <= 0).length;
    const rest = rows.slice(begin + request.skip);
    const page = rest.slice(0, pageSize);

    const held = holdPackages(images.map(({ packages = [] }) => packages));
    const { resolved, untyped } = await resolvedByDay(session, held, new Set(page.map(({ date }) => date)));
    const vulns = await describe(session, resolved);
    const all = page.map(({ date, uid }) => reportOf(date, uid, vulns.get(date) ?? []));
    const reports = all.slice(0, messagePageLength(ResolvedVulnsReportSchema, all));
    const last = rest.length > reports.length ? page[reports.length - 1] : undefined;
    const response = listResponse(ListResolvedVulnsReportsResponseSchema, reports, {
      nextPageToken: last && tokenAfter(keyOf(last)),
      totalCount: rows.length,
      skipped: request.skip,
    }) as ListResolvedVulnsReportsResponse;
    return Object.assign(response, untypedFields(held.untyped, untyped));
  };
}

/** The images of a request, each once. Errors: INVALID_ARGUMENT on `image_refs` or `images`. */
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
 * Makes sure that every image is there and has a list of packages: without them days would look as if nothing had been resolved.
 * Errors: INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION.
 */
function requireImages(asked: readonly AskedImage[], found: readonly FoundImage[]): void {
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

/** The first moments of the days from one instant to another, both included. Errors: INVALID_ARGUMENT. */
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

/** The first moment of an instant's day, in milliseconds since 1970. */
function dayOf({ seconds }: Timestamp): number {
  return Math.floor(Number(seconds) / 86_400) * dayMs;
}

/** Compares keys by the columns of an order, the uid last, in the direction of the column before it. */
function comparator(order: readonly { readonly descending: boolean }[]) {
  const signs = [...order, order.at(-1)!].map(({ descending }) => (descending ? -1 : 1));
  return (a: readonly unknown[], b: readonly unknown[]): number => {
    const i = signs.findIndex((_, column) => a[column] !== b[column]);
    return i < 0 ? 0 : signs[i]! * ((a[i] as string) < (b[i] as string) ? -1 : 1);
  };
}

/** What was fixed on each of the days, by day and id; and the documents with advisories of unknown type, by id. */
async function resolvedByDay(session: ReadSession, held: HeldPackages, days: ReadonlySet<number>) {
  const resolved = new Map<number, Map<string, Resolved>>();
  const untyped = new Set<string>();
  const urls = new Map<string, PackageUrl | undefined>();
  for await (const { id: document, advisories } of readDocuments(session, held.names)) {
    for (const { id, aliases, events, packageUrl = "" } of advisories) {
      if (!urls.has(packageUrl)) urls.set(packageUrl, parsePackageUrl(packageUrl));
      const url = urls.get(packageUrl);
      if (url === undefined) untyped.add(document);
      else
        for (const day of daysFixed(events, days, (version) =>
          held.areFixed(packageName(url), packageKind(url), version),
        ))
          addResolved(resolved, day, id, aliases);
    }
  }
  return { resolved, untyped: [...untyped].sort() };
}

/** The days of events that say in which version something was fixed, where that holds. */
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
    for (let after: readonly string[] | undefined; ; ) {
      const query = { where, orderBy: [], skip: 0, limit: portion, ...(after && { after }) };
      const rows: Row[] = await session.list(documents.table, query);
      for (const row of rows) yield messageOf(documents, row);
      if (rows.length < portion) break;
      after = [rows.at(-1)!.uid];
    }
  }
}

/** The vulnerabilities of each day, in the order of their ids, with their ratings. */
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

/** What the response says of packages and documents without a type. */
function untypedFields(
  packages: readonly string[],
  untypedDocuments: readonly string[],
): MessageInitShape<typeof ListResolvedVulnsReportsResponseSchema> {
  return {
    untypedPackages: packages.slice(0, maxUntyped),
    untypedPackageCount: packages.length,
    untypedDocuments: untypedDocuments.slice(0, maxUntyped),
    untypedDocumentCount: untypedDocuments.length,
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
