/** Reports of vulnerability scanners, which only v1 answers. */
import { create, type DescMethod } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import * as older from "../../../gen/platform/registry/v1/image_vuln_reports_pb.ts";
import * as v1 from "../../../gen/platform/registry/v1/vulnerabilities_pb.ts";
import { scopesOf } from "../../auth/index.ts";
import { invalid, notFound, resourceExhausted } from "../../errors.ts";
import { databaseOf, requireResource } from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { type Handler, type MethodTranslations, wholeListAnswer } from "../../translation/index.ts";
import { readImages } from "../registry/images.ts";
import { repos } from "../registry/repos.ts";
import { tags } from "../registry/tags.ts";
import {
  type Finding,
  readFile,
  readFindings,
  readReports,
  type ScannerName,
  type Severity,
  type StoredReport,
  scanners,
  severities,
  withPlatforms,
} from "../registry/vuln-reports.ts";
import { serviceOfV1 } from "./common.ts";

const dayMs = 86_400_000;
/** Reports whose findings are in memory at once. */
const portion = 4;
/** The largest file that the older form of a report holds. */
const maxFileBytes = 1024 * 1024;
const resourceType = "registry.platform.internal/VulnReport";

/** The service of reports. `maxItems`: the most reports of a list. */
export function vulnerabilitiesOfV1(maxItems: () => number) {
  return serviceOfV1(v1.Vulnerabilities, {
    methods: ({ custom }) => ({
      listVulnReports(method) {
        const answer = wholeListAnswer(method.output, ", or name a digest");
        return custom(method, undefined, async (request: v1.VulnReportFilter, context) => {
          const found = await reportsFor(request, maxItems(), context);
          return answer(partsOf(found, request, databaseOf(context)), context);
        });
      },

      getRawVulnReport: (method) =>
        custom(method, undefined, async (request: v1.GetRawVulnReportRequest, context) => {
          const { digest, scanner, createdAt } = request;
          const wantedMs = createdAt === undefined ? undefined : timestampMs(createdAt);
          const report = await newest(databaseOf(context), {
            scopes: scopesOf(context),
            digests: [digest],
            scanner: scannerNamed(scanner),
            fromMs: wantedMs,
            toMs: wantedMs,
          });
          if (report === undefined) throw noReport(digest);
          return create(v1.RawVulnReportSchema, {
            ...headOf(report),
            rawReport: Buffer.from(await readFile(databaseOf(context), report.uid)).toString(),
          });
        }),

      listVulnCountReports: (method) =>
        custom(method, undefined, (request: v1.VulnCountReportFilter, context) =>
          countReports(request, false, context),
        ),
      listCumulativeVulnCountReports: (method) =>
        custom(method, undefined, (request: v1.VulnCountReportFilter, context) => countReports(request, true, context)),
    }),
  });
}

/** The method of the registry that answers with the older form of a report. */
export function getVulnReport({ custom }: MethodTranslations): (method: DescMethod) => Handler {
  return (method) =>
    custom(method, undefined, async ({ repoId, digest }: older.VulnReportRequest, context) => {
      await requireResource(repos, repoId, context);
      const session = databaseOf(context);
      const digests = await withPlatforms(session, repoId, digest);
      const report = await newest(session, { scopes: [repoId], repoUid: repoId, digests });
      if (report === undefined) throw noReport(digest);
      const findings = (await readFindings(session, [report.uid])).get(report.uid) ?? [];
      const file = await readFile(session, report.uid);
      return create(older.ImageVulnReportSchema, {
        id: report.uid,
        ...(report.databaseMs !== undefined && { vulnerabilityDbLastBuildTime: timestampFromMs(report.databaseMs) }),
        scanner: { name: report.scanner.name.toLowerCase(), version: report.scanner.version },
        reportGeneration: timestampFromMs(report.scanMs),
        lastSeen: timestampFromMs(report.scanMs),
        vulnerabilityMatches: findings.map(matchOf),
        ...(file.length <= maxFileBytes && { rawVulnReport: file }),
      });
    });
}

/** The newest report of a query. */
async function newest(
  session: ReadSession,
  query: Parameters<typeof readReports>[1],
): Promise<StoredReport | undefined> {
  for await (const [first] of readReports(session, query)) return first;
  return undefined;
}

/** The reports that a filter asks for, newest first. */
async function reportsFor(
  { repoId, digest, tag, scanner, createdSince }: v1.VulnReportFilter,
  maxItems: number,
  context: HandlerContext,
): Promise<StoredReport[]> {
  if (repoId === "" && digest === "") throw invalid({ field: "digest", description: "or repo_id is required" });
  const session = databaseOf(context);
  const tagged = digest === "" && tag !== "" ? await digestsOfTag(session, repoId, tag) : undefined;
  const reports = readReports(session, {
    scopes: scopesOf(context),
    repoUid: repoId === "" ? undefined : repoId,
    digests: digest === "" ? undefined : [digest],
    scanner: scannerNamed(scanner?.name ?? v1.Scanner_Name.UNKNOWN),
    fromMs: createdSince === undefined ? undefined : timestampMs(createdSince),
  });
  const found: StoredReport[] = [];
  const seen = new Set<string>();
  for await (const page of reports) {
    for (const report of page) {
      if (tagged !== undefined && !isTagged(report, tag, tagged)) continue;
      const key = `${report.repoUid} ${report.digest} ${report.scanner.name}`;
      if (createdSince === undefined && seen.has(key)) continue;
      seen.add(key);
      found.push(report);
    }
    if (found.length > maxItems)
      throw resourceExhausted("list", `the list has more than ${maxItems} reports (--v1-max-list-items)`, undefined, {
        limit: String(maxItems),
      });
  }
  return found;
}

/** The reports with their findings, a few at a time. */
async function* partsOf(
  reports: readonly StoredReport[],
  filter: v1.VulnReportFilter,
  session: ReadSession,
): AsyncGenerator<v1.VulnReportList> {
  if (reports.length === 0) yield create(v1.VulnReportListSchema);
  for (let start = 0; start < reports.length; start += portion) {
    const some = reports.slice(start, start + portion);
    const findings = await readFindings(
      session,
      some.map(({ uid }) => uid),
    );
    yield create(v1.VulnReportListSchema, {
      items: some.map((report) => ({
        ...headOf(report),
        vulnerabilities: vulnerabilitiesOf(findings.get(report.uid) ?? []).filter((each) => isWanted(each, filter)),
      })),
    });
  }
}

function isWanted({ severity, fix }: v1.Vulnerability, { severities: wanted, fixed }: v1.VulnReportFilter): boolean {
  if (wanted.length > 0 && !wanted.includes(severity)) return false;
  return fixed === undefined || (fix?.state === v1.Vulnerability_Fix_State.FIXED) === fixed;
}

function headOf({ digest, scanner: { name, version }, databaseMs, scanMs }: StoredReport) {
  return {
    digest,
    scanner: create(v1.ScannerSchema, {
      name: v1.Scanner_Name[name],
      version,
      ...(databaseMs !== undefined && { dbBuildTime: timestampFromMs(databaseMs) }),
    }),
    createdAt: timestampFromMs(scanMs),
  };
}

/** The vulnerabilities of findings: one for each id and fix, with all packages that have it; the most severe first. */
function vulnerabilitiesOf(findings: readonly Finding[]): v1.Vulnerability[] {
  const groups = Map.groupBy(findings, ({ id, fix }) => JSON.stringify([id, fix]));
  const all = [...groups.values()].map((group) => {
    const { id, aliases, description, severity, cvss, epss = [], exploits = [], risk, urls, fix } = group[0]!;
    const distinct = (read: (finding: Finding) => readonly string[]) => [...new Set(group.flatMap(read))];
    return create(v1.VulnerabilitySchema, {
      id,
      aliases: [...aliases],
      purls: distinct((finding) => (finding.package.purl === "" ? [] : [finding.package.purl])),
      description: description.split("\n", 1)[0]!,
      details: description,
      severity: v1.Vulnerability_Severity[severity],
      cvss: [...cvss],
      fix: { versions: [...fix.versions], state: v1.Vulnerability_Fix_State[fix.state] },
      relatedUrls: [...urls],
      locations: distinct((finding) => finding.package.locations),
      epss: [...epss],
      knownExploits: exploits.map((exploit) => ({ ...exploit, urls: [...exploit.urls] })),
      ...(risk !== undefined && { risk }),
    });
  });
  const rank = ({ severity }: v1.Vulnerability) =>
    severities.findIndex((name) => v1.Vulnerability_Severity[name] === severity);
  return all.sort((a, b) => rank(b) - rank(a) || (a.id < b.id ? -1 : 1));
}

function matchOf(finding: Finding): older.VulnerabilityMatch {
  const { id, aliases, source, description, severity, cvss, urls, fix, package: pkg } = finding;
  const olderSeverities = older.VulnerabilityRecord_Severity;
  return create(older.VulnerabilityMatchSchema, {
    vulnerability: {
      id,
      description,
      severity: severity === "NEGLIGIBLE" ? olderSeverities.LOW : olderSeverities[severity],
      source,
      cvss: [...cvss],
      cpeUri: [...pkg.cpes],
      relatedUrls: [...urls],
      relatedVulnerabilities: aliases.map((alias) => ({ id: alias })),
      displayId: [id, ...aliases].find((name) => name.startsWith("CVE-")) ?? id,
    },
    pkg: { id: pkg.id, name: pkg.name, version: pkg.version, license: pkg.licenses.join(", "), purl: pkg.purl },
    fix: { versions: [...fix.versions], state: older.Fix_State[fix.state] },
  });
}

/** How many vulnerabilities images had on each day: by the newest report of the day, or by all up to it. */
async function countReports(
  request: v1.VulnCountReportFilter,
  isCumulative: boolean,
  context: HandlerContext,
): Promise<v1.VulnCountReportList> {
  const references = request.references.length > 0 ? request.references : [request];
  if (references.some(({ repo }) => repo === "")) throw invalid({ field: "repo", description: "is required" });
  const session = databaseOf(context);
  const items: v1.VulnCountReport[] = [];
  for (const { repo, tag } of references)
    for (const repoUid of await reposNamed(session, repo, scopesOf(context)))
      items.push(...(await countsOfTag({ repo, tag: tag || "latest", repoUid }, request, isCumulative, session)));
  return create(v1.VulnCountReportListSchema, { items });
}

async function countsOfTag(
  { repo, tag, repoUid }: { readonly repo: string; readonly tag: string; readonly repoUid: string },
  { from, to }: v1.VulnCountReportFilter,
  isCumulative: boolean,
  session: ReadSession,
): Promise<v1.VulnCountReport[]> {
  const tagged = await digestsOfTag(session, repoUid, tag);
  const days = new Map<number, StoredReport[]>();
  const query = {
    scopes: [repoUid],
    repoUid,
    fromMs: from === undefined ? undefined : dayOf(timestampMs(from)),
    toMs: to === undefined ? undefined : dayOf(timestampMs(to)) + dayMs - 1,
  };
  for await (const page of readReports(session, query))
    for (const report of page.filter((each) => isTagged(each, tag, tagged)))
      days.set(dayOf(report.scanMs), [...(days.get(dayOf(report.scanMs)) ?? []), report]);
  const earlier = new Map<string, Severity>();
  const items: v1.VulnCountReport[] = [];
  for (const [day, reports] of [...days].sort(([a], [b]) => a - b)) {
    const found = isCumulative ? earlier : new Map<string, Severity>();
    for (const report of isCumulative ? reports.toReversed() : reports.slice(0, 1))
      for (const severity of severities) for (const id of report.ids[severity] ?? []) found.set(id, severity);
    const size = await sizeOf(session, repoUid, reports[0]!.digest);
    items.push(countReport({ repo, tag, day, size }, found));
  }
  return items;
}

function countReport(
  { repo, tag, day, size }: { repo: string; tag: string; day: number; size: number },
  found: ReadonlyMap<string, Severity>,
): v1.VulnCountReport {
  const idsOf = (wanted: Severity) => [...found].flatMap(([id, severity]) => (severity === wanted ? [id] : [])).sort();
  return create(v1.VulnCountReportSchema, {
    repo,
    tag,
    date: timestampFromMs(day),
    vulnCounts: severities.map((severity) => ({
      severity: v1.Vulnerability_Severity[severity],
      count: idsOf(severity).length,
    })),
    sizeBytes: BigInt(size),
    cveIds: [...found.keys()].sort(),
    lowCveIds: idsOf("LOW"),
    medCveIds: idsOf("MEDIUM"),
    highCveIds: idsOf("HIGH"),
    critCveIds: idsOf("CRITICAL"),
    negligibleCveIds: idsOf("NEGLIGIBLE"),
    unknownCveIds: idsOf("UNKNOWN"),
  });
}

/** The digests that a tag has now: of the image and of its platforms. */
async function digestsOfTag(session: ReadSession, repoUid: string, tag: string): Promise<string[]> {
  const row = await session.first(tags.table, { parent: repoUid, where: [{ column: "name", equals: tag }] });
  return row === undefined ? [] : withPlatforms(session, repoUid, row.columns.digest as string);
}

/** Whether a report is about a tag: by the digest that the tag has now, or had when the report was imported. */
function isTagged(report: StoredReport, tag: string, digests: readonly string[]): boolean {
  return digests.includes(report.digest) || report.tags.includes(tag);
}

/** The repos with this name that the caller may see. */
async function reposNamed(session: ReadSession, name: string, scopes: readonly string[]): Promise<string[]> {
  const within = scopes.includes("") ? {} : { within: scopes.map((root) => ({ root, self: true })) };
  const rows = await session.list(repos.table, { ...within, where: [{ column: "name", equals: name }], limit: 200 });
  return rows.map(({ uid }) => uid);
}

/** The size of an image: of its first platform. */
async function sizeOf(session: ReadSession, repoUid: string, digest: string): Promise<number> {
  return (await readImages(session, repoUid, [digest])).get(digest)?.platforms[0]?.size ?? 0;
}

/** undefined: any scanner. */
function scannerNamed(number: v1.Scanner_Name): ScannerName | undefined {
  return (Object.keys(scanners) as ScannerName[]).find((name) => v1.Scanner_Name[name] === number);
}

function dayOf(timeMs: number): number {
  return timeMs - (timeMs % dayMs);
}

function noReport(digest: string) {
  return notFound({ type: resourceType, uid: digest }, `no report about ${digest}`);
}
