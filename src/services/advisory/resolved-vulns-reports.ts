/**
 * Reports of what was resolved in images: one for each UTC day of a range, days without news included. A day lists the vulnerabilities with a
 * `fixed` event on it, for a package that an image holds, as its tag stands now, at or above the fixed version.
 *
 * A package is looked for by its own name and by that of the package it is built from; where an image has several copies of one kind, all must
 * be fixed. Reports are stored nowhere: a uid follows from the images and the day, and both times of a report are its day's.
 */
import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type Document,
  type ListResolvedVulnsReportsRequest,
  type ListResolvedVulnsReportsResponse,
  ListResolvedVulnsReportsResponseSchema,
  type ResolvedVuln,
  ResolvedVulnSchema,
  ResolvedVulnsReportSchema,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { scopesOf } from "../../auth/index.ts";
import { invalid } from "../../errors.ts";
import { databaseOf, type ListRequest, listResponse, messageOf, openList } from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { fixedUid } from "../../uid.ts";
import { documents } from "./documents.ts";
import { comparePackageVersions } from "./package-versions.ts";
import { severitiesOf } from "./severities.ts";

/** A package that an image holds. */
export interface HeldPackage {
  readonly name: string;
  readonly version: string;
  /** As package URLs name it. */
  readonly type: string;
  /** The package that it is built from, and its version where that differs; "" where unknown. */
  readonly origin: string;
  readonly originVersion: string;
}

/** Finds images by the uid or name of their repo and a tag, in the scopes given; what cannot be found holds nothing. */
export type ImageSource = (
  session: ReadSession,
  images: readonly { readonly repo: string; readonly tag: string }[],
  scopes: readonly string[],
) => Promise<
  readonly {
    readonly repoUid?: string;
    readonly isAmbiguous: boolean;
    readonly packages: readonly HeldPackage[];
  }[]
>;

interface AskedImage {
  readonly field: "image_refs" | "images";
  readonly repo: string;
  readonly tag: string;
}

/** The copies of one kind that an image has of a package. */
interface Copies {
  readonly type: string;
  readonly versions: readonly string[];
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
    const ambiguous = asked.find((_, i) => images[i]!.isAmbiguous);
    if (ambiguous !== undefined) {
      const description = `more than one repo is called ${JSON.stringify(ambiguous.repo)}; give its uid`;
      throw invalid({ field: ambiguous.field, description });
    }
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

    const resolved = await resolvedByDay(
      session,
      images.map(({ packages }) => packages),
      new Set(page.map(({ date }) => date)),
    );
    const vulns = await describe(session, resolved);
    const reports = page.map(({ date, uid }) => reportOf(date, uid, vulns.get(date) ?? []));
    const last = rest.length > page.length ? page.at(-1) : undefined;
    return listResponse(ListResolvedVulnsReportsResponseSchema, reports, {
      nextPageToken: last && tokenAfter(keyOf(last)),
      totalCount: rows.length,
      skipped: request.skip,
    }) as ListResolvedVulnsReportsResponse;
  };
}

/** The images of a request, each once. Errors: INVALID_ARGUMENT on `image_refs` or `images`. */
function imagesOf({ imageRefs, images }: ListResolvedVulnsReportsRequest): readonly AskedImage[] {
  const refs = imageRefs.flatMap(({ repo, tags }) =>
    (tags.length === 0 ? [defaultTag] : tags).map((tag) => ({ field: "image_refs" as const, repo, tag })),
  );
  const texts = images.map((text) => {
    const [, repo = "", tag = defaultTag] = /^(.*?)(?::([^:/]*))?$/s.exec(text)!;
    if (repo === "" || tag === "")
      throw invalid({ field: "images", description: `${JSON.stringify(text)} must be a repo, ":" and a tag` });
    return { field: "images" as const, repo, tag };
  });
  const asked = [...new Map([...refs, ...texts].map((image) => [`${image.repo}:${image.tag}`, image])).values()];
  if (asked.length === 0) throw invalid({ field: "image_refs", description: "at least one image must be given" });
  if (asked.length > maxImages)
    throw invalid({ field: asked[0]!.field, description: `must name at most ${maxImages} images` });
  return asked;
}

/** The first moments of the days from one instant to another, both included. Errors: INVALID_ARGUMENT. */
function daysOf({ startTime, endTime }: ListResolvedVulnsReportsRequest): number[] {
  if (startTime === undefined) throw invalid({ field: "start_time", description: "value is required" });
  if (endTime === undefined) throw invalid({ field: "end_time", description: "value is required" });
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

/** What was fixed on each of the days, by day and id. */
async function resolvedByDay(
  session: ReadSession,
  images: readonly (readonly HeldPackage[])[],
  days: ReadonlySet<number>,
): Promise<ReadonlyMap<number, ReadonlyMap<string, Resolved>>> {
  const held = copiesByName(images);
  const result = new Map<number, Map<string, Resolved>>();
  for await (const { id: name, advisories } of readDocuments(session, [...held.keys()])) {
    const copies = held.get(name) ?? [];
    for (const { id, aliases, events } of advisories) {
      for (const { timestamp, data } of events) {
        if (data.case !== "fixed" || timestamp === undefined) continue;
        const day = dayOf(timestamp);
        if (!days.has(day) || !copies.some((some) => isFixedIn(some, data.value.fixedVersion))) continue;
        const ofDay = result.get(day) ?? new Map<string, Resolved>();
        const resolved = ofDay.get(id) ?? { id, aliases: new Set() };
        for (const alias of aliases) resolved.aliases.add(alias);
        result.set(day, ofDay.set(id, resolved));
      }
    }
  }
  return result;
}

/** By the name of a package, and by that of its origin, the copies of each image, those that are alike once. */
function copiesByName(images: readonly (readonly HeldPackage[])[]): ReadonlyMap<string, readonly Copies[]> {
  const all = new Map<string, Map<string, Copies>>();
  for (const packages of images) {
    const versions = new Map<string, Map<string, Set<string>>>();
    const add = (name: string, type: string, version: string) => {
      const types = versions.get(name) ?? new Map<string, Set<string>>();
      versions.set(name, types.set(type, (types.get(type) ?? new Set()).add(version)));
    };
    for (const { name, type, version, origin, originVersion } of packages) {
      add(name, type, version);
      if (origin !== "") add(origin, type, originVersion || version);
    }
    for (const [name, types] of versions) {
      const copies = all.get(name) ?? new Map<string, Copies>();
      for (const [type, set] of types)
        copies.set(JSON.stringify([type, ...[...set].sort()]), { type, versions: [...set] });
      all.set(name, copies);
    }
  }
  return new Map([...all].map(([name, copies]) => [name, [...copies.values()]]));
}

function isFixedIn({ type, versions }: Copies, fixedVersion: string): boolean {
  return versions.every((version) => comparePackageVersions(type, version, fixedVersion) >= 0);
}

async function* readDocuments(session: ReadSession, ids: readonly string[]): AsyncGenerator<Document> {
  for (let start = 0; start < ids.length; start += portion) {
    const where = [{ column: "id", in: ids.slice(start, start + portion) }];
    const rows = await session.list(documents.table, { where, orderBy: [], skip: 0, limit: portion });
    for (const row of rows) yield messageOf(documents, row);
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
