/** What reports of vulnerability scanners have in common. */

const severities = ["UNKNOWN", "NEGLIGIBLE", "LOW", "MEDIUM", "HIGH", "CRITICAL"] as const;

/** How severe a vulnerability is. */
type VulnSeverity = (typeof severities)[number];

/** The severity of a name in any case. */
export function severityOf(name = ""): VulnSeverity {
  return severities.find((severity) => severity === name.toUpperCase()) ?? "UNKNOWN";
}

/** A vulnerability in a package. Texts are "" where the report has none. */
export interface VulnFinding {
  readonly id: string;
  readonly aliases: readonly string[];
  /** Who published it: `nvd:cpe`, `ghsa`. */
  readonly source: string;
  readonly description: string;
  readonly severity: VulnSeverity;
  /** Ratings by CVSS. */
  readonly cvss: readonly CvssRating[];
  /** How likely its exploitation is (EPSS). */
  readonly epss: readonly {
    readonly cve: string;
    readonly score: number;
    readonly percentile: number;
    readonly date: string;
  }[];
  /** Entries in catalogs of vulnerabilities that are exploited, such as KEV of CISA. Dates are as they are given. */
  readonly exploits: readonly KnownExploit[];
  /** How urgent it is by the scanner, from 0 to 100; absent where it does not say. */
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
    /** Paths in the image. */
    readonly locations: readonly string[];
  };
}

/** A rating by CVSS. */
interface CvssRating {
  /** From 0 to 10. */
  readonly score: string;
  readonly version: string;
  readonly vector: string;
  /** Who rated: `nvd@nist.gov`, `ghsa`. */
  readonly source: string;
}

/** An entry in a catalog of vulnerabilities that are exploited. */
interface KnownExploit {
  readonly cve: string;
  readonly vendor: string;
  readonly product: string;
  readonly dateAdded: string;
  readonly dueDate: string;
  readonly requiredAction: string;
  /** Whether ransomware uses it: `known`, `unknown`. */
  readonly ransomwareUse: string;
  readonly urls: readonly string[];
}

/** What a report says. */
export interface VulnScan {
  readonly scanner: { readonly name: "GRYPE" | "TRIVY"; readonly version: string };
  /** When the scanner's database was built, in milliseconds since 1970. */
  readonly databaseMs: number | undefined;
  /** When the report was made. */
  readonly createMs: number | undefined;
  /** The digests that the report names for the image; empty where it names none. */
  readonly digests: readonly string[];
  readonly findings: readonly VulnFinding[];
}

/** Limits of the texts and lists of a report. */
export const limits = {
  findings: 200_000,
  text: 64 * 1024,
  name: 4096,
  urls: { maxItems: 1000, maxLength: 4096 },
  short: { maxItems: 1000, maxLength: 4096 },
} as const;

/** The digest in a reference `name@sha256:…`. */
export function digestsIn(references: readonly string[]): string[] {
  return references.flatMap((reference) => /(sha256:[0-9a-f]{64})$/.exec(reference)?.[1] ?? []);
}
