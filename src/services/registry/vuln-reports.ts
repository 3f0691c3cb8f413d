/**
 * Reports of vulnerability scanners about images, imported by the operator. A report belongs to a repo, a digest, a
 * scanner and a time, and never changes. Its row holds what lists count; its findings and the file of the scanner are
 * rows of their own with the same uid, so that counting does not read them.
 */
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { fixedUid } from "../../new-uid.ts";
import { type Saved, saveContent } from "../../resource/index.ts";
import type { ReadSession, Row, Selection, TableSpec, WriteSession } from "../../store/index.ts";
import type { Left } from "./document-notes.ts";
import { readImages } from "./images.ts";

/** The severities, the least severe first. */
export const severities = ["UNKNOWN", "NEGLIGIBLE", "LOW", "MEDIUM", "HIGH", "CRITICAL"] as const;
export type Severity = (typeof severities)[number];

/** The scanners, by the number that the table has for each. */
export const scanners = { GRYPE: 1, TRIVY: 2 } as const;
export type ScannerName = keyof typeof scanners;

/** A vulnerability in a package. Texts are "" where the report has none. */
export interface Finding {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly source: string;
  readonly description: string;
  readonly severity: Severity;
  readonly cvss: readonly {
    readonly score: string;
    readonly version: string;
    /** Absent in reports that an earlier version stored, as are the next members. */
    readonly vector?: string;
    readonly source?: string;
  }[];
  readonly epss?: readonly {
    readonly cve: string;
    readonly score: number;
    readonly percentile: number;
    readonly date: string;
  }[];
  readonly exploits?: readonly {
    readonly cve: string;
    readonly vendor: string;
    readonly product: string;
    readonly dateAdded: string;
    readonly dueDate: string;
    readonly requiredAction: string;
    readonly ransomwareUse: string;
    readonly urls: readonly string[];
  }[];
  readonly risk?: number;
  readonly urls: readonly string[];
  readonly fix: {
    readonly versions: readonly string[];
    readonly state: "UNKNOWN" | "FIXED" | "NOT_FIXED" | "WONT_FIX";
  };
  readonly package: {
    readonly id: string;
    readonly name: string;
    readonly version: string;
    readonly licenses: readonly string[];
    readonly purl: string;
    readonly cpes: readonly string[];
    readonly locations: readonly string[];
  };
}

/** What the row of a report holds. Times are in milliseconds since 1970. */
export interface Scan {
  readonly digest: string;
  readonly scanner: { readonly name: ScannerName; readonly version: string };
  /** When the scanner's database was built. */
  readonly databaseMs: number | undefined;
  readonly scanMs: number;
  /** The names of the tags that had the digest when the report was imported. */
  readonly tags: readonly string[];
  /** The ids of the vulnerabilities by severity, each once, sorted. */
  readonly ids: Readonly<Partial<Record<Severity, readonly string[]>>>;
  /** Absent in reports that were imported. */
  readonly upload?: ReportUpload | undefined;
}

/** What the answer to the upload of a report says. */
export interface ReportUpload {
  /** The SHA-256 of the report as it came: `sha256:…`. */
  readonly documentDigest: string;
  readonly findingCount: number;
  readonly left: Left;
}

/** A report to store. */
export interface ReportToSave extends Omit<Scan, "ids"> {
  readonly repoUid: string;
  readonly findings: readonly Finding[];
  /** The report as its scanner wrote it. */
  readonly file: Uint8Array;
}

/** A stored report. */
export interface StoredReport extends Scan {
  readonly uid: string;
  readonly repoUid: string;
}

const reports: TableSpec = {
  name: "vuln_reports",
  columns: { digest: "text", scanner: "integer", scan_time_us: "integer" },
  quota: "vulnReports",
};
const findingsTable: TableSpec = { name: "vuln_report_findings", columns: {} };
const files: TableSpec = { name: "vuln_report_files", columns: {} };
/** The tables of reports, each below its repo. */
export const reportTables = [reports, findingsTable, files];

const compress = promisify<Uint8Array, Buffer>(gzip);
const decompress = promisify<Uint8Array, Buffer>(gunzip);
const pageSize = 200;

/** Does the part of storing a report that needs no database. */
export async function packReport(report: ReportToSave): Promise<PackedReport> {
  const { repoUid, findings, file, digest, scanner, databaseMs, scanMs, tags, upload } = report;
  const idsOf = (severity: Severity) =>
    [...new Set(findings.flatMap((each) => (each.severity === severity ? [each.id] : [])))].sort();
  const ids = Object.fromEntries(severities.map((severity) => [severity, idsOf(severity)]));
  return {
    uid: `${repoUid}/${fixedUid("vuln-report", digest, scanner.name, String(scanMs)).slice(0, 16)}`,
    repoUid,
    scan: { digest, scanner, databaseMs, scanMs, tags, ids, upload },
    findings: await compress(Buffer.from(JSON.stringify(findings))),
    file: await compress(file),
  };
}

/** A report whose findings and file are compressed. */
interface PackedReport {
  readonly uid: string;
  readonly repoUid: string;
  readonly scan: Scan;
  readonly findings: Uint8Array;
  readonly file: Uint8Array;
}

/** Stores a report. One that is stored already is replaced where it differs. */
export async function saveReport(session: WriteSession, report: PackedReport, nowMs: number): Promise<Saved> {
  const { uid, repoUid, scan, findings, file } = report;
  const body = Buffer.from(JSON.stringify(scan));
  const columns = { digest: scan.digest, scanner: scanners[scan.scanner.name], scan_time_us: scan.scanMs * 1000 };
  const parts = [
    { table: reports, body, columns },
    { table: findingsTable, body: findings, columns: {} },
    { table: files, body: file, columns: {} },
  ];
  const saved: Saved[] = [];
  for (const { table, ...content } of parts) {
    const row = { uid, parent: repoUid, ...content };
    saved.push(await saveContent(session, table, row, nowMs, await session.get(table, uid)));
  }
  return saved.find((each) => each === "added") ?? saved.find((each) => each === "changed") ?? "unchanged";
}

/** The report about a digest that was uploaded as this document. */
export async function findUploaded(
  session: ReadSession,
  repoUid: string,
  digest: string,
  documentDigest: string,
): Promise<StoredReport | undefined> {
  const where = [{ column: "digest", equals: digest }];
  for await (const rows of session.pages(reports, { parent: repoUid, where, limit: pageSize })) {
    const found = rows.map(storedReport).find(({ upload }) => upload?.documentDigest === documentDigest);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Removes the reports of a repo. */
export async function removeReports(session: WriteSession, repoUid: string): Promise<void> {
  for (const table of [reports, findingsTable, files])
    for await (const rows of session.pages(table, { parent: repoUid, limit: pageSize, columns: [] }))
      for (const { uid } of rows) await session.remove(table, uid);
}

/** Which reports to read. */
export interface ReportQuery {
  /** The uids below which to look; "" is everywhere. */
  readonly scopes: readonly string[];
  readonly repoUid?: string | undefined;
  readonly digests?: readonly string[] | undefined;
  readonly scanner?: ScannerName | undefined;
  /** The first and the last time, both included. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

/** The reports, newest first, in portions. */
export async function* readReports(session: ReadSession, query: ReportQuery): AsyncGenerator<StoredReport[]> {
  const { scopes, repoUid, digests, scanner, fromMs, toMs } = query;
  const where = [
    ...(digests === undefined ? [] : [{ column: "digest", in: digests }]),
    ...(scanner === undefined ? [] : [{ column: "scanner", equals: scanners[scanner] }]),
    ...(fromMs === undefined ? [] : [{ column: "scan_time_us", greaterThan: fromMs * 1000 - 1 }]),
  ];
  const selection: Selection = {
    ...(!scopes.includes("") && { within: scopes.map((root) => ({ root, self: true })) }),
    ...(repoUid !== undefined && { parent: repoUid }),
    where,
  };
  const orderBy = [{ column: "scan_time_us", descending: true }];
  for await (const rows of session.pages(reports, { ...selection, orderBy, limit: pageSize })) {
    const found = rows.map(storedReport).filter(({ scanMs }) => toMs === undefined || scanMs <= toMs);
    if (found.length > 0) yield found;
  }
}

/** The findings of reports, by uid. */
export async function readFindings(
  session: ReadSession,
  uids: readonly string[],
): Promise<ReadonlyMap<string, readonly Finding[]>> {
  const rows = await session.getMany(findingsTable, uids);
  const read = [...rows].map(
    async ([uid, { body }]): Promise<[string, readonly Finding[]]> => [
      uid,
      JSON.parse((await decompress(body)).toString()),
    ],
  );
  return new Map(await Promise.all(read));
}

/** A report as its scanner wrote it. */
export async function readFile(session: ReadSession, uid: string): Promise<Uint8Array> {
  const row = await session.get(files, uid);
  return row === undefined ? new Uint8Array() : decompress(row.body);
}

/** A digest with those of its platforms. */
export async function withPlatforms(session: ReadSession, repoUid: string, digest: string): Promise<string[]> {
  const image = (await readImages(session, repoUid, [digest])).get(digest);
  return [...new Set([digest, ...(image?.platforms.map((platform) => platform.digest) ?? [])])];
}

function storedReport({ uid, parent, body }: Row): StoredReport {
  return { uid, repoUid: parent, ...(JSON.parse(Buffer.from(body).toString()) as Scan) };
}
