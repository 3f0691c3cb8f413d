/** Records of feeds as they are stored: what they say of a vulnerability, and of which packages they say something. */
import { createHash } from "node:crypto";
import type { PackageFact, VulnerabilityFacts } from "../../matching/index.ts";
import { fixedUid } from "../../new-uid.ts";
import type { Row } from "../../store/index.ts";

/** What a record says, without its packages. */
type RecordFacts = Omit<VulnerabilityFacts, "packages">;

/** What tells the packages of a record apart. */
type PackageIdentity = Pick<PackageFact, "key" | "name" | "subcomponent">;

/** A package of a record, and a digest of all that the record says about it. */
export interface RecordPackage extends PackageIdentity {
  readonly digest: string;
}

/** A record as it is stored. */
export interface StoredRecord {
  readonly uid: string;
  readonly feed: string;
  /** The uids of its alias groups, sorted; none before it is settled. */
  readonly vulnerabilities: readonly string[];
  readonly facts: RecordFacts;
  readonly packages: readonly RecordPackage[];
}

/** What a record was, and is now. */
export interface RecordChange {
  /** Undefined for a new one. */
  readonly before: StoredRecord | undefined;
  /** What it says of packages; undefined when it is removed. */
  readonly packages: readonly PackageFact[] | undefined;
}

/** The uid of a record. @param key tells the records of one source apart. */
export function recordUid(feed: string, source: string, key: string): string {
  return fixedUid("record", feed, source, key);
}

/** The uid of what a record says of a package. @param group the place of the alias group among those of the record. */
export function affectedUid(record: string, of: PackageIdentity, group: number): string {
  return fixedUid("affected", record, packageText(of), String(group));
}

/** A text that tells the packages of a record apart. */
export function packageText({ key, name = "", subcomponent = "" }: PackageIdentity): string {
  return JSON.stringify([key, name, subcomponent]);
}

/** The body of the row of a record. It differs whenever anything that the record says does. */
export function recordBody({ packages, ...facts }: VulnerabilityFacts): Buffer {
  const listed = packages.map((each): RecordPackage => {
    const { key, name, subcomponent } = each;
    return { key, name, subcomponent, digest: digestOf(each, facts) };
  });
  return Buffer.from(JSON.stringify({ facts, packages: listed }));
}

/** The columns of a record that depend on what it says. */
export function identifiersOf({ id, aliases }: Pick<VulnerabilityFacts, "id" | "aliases">): string[] {
  return [...new Set([id, ...aliases])];
}

export function recordOf({ uid, columns, body }: Row): StoredRecord {
  const { facts, packages } = JSON.parse(Buffer.from(body).toString()) as Pick<StoredRecord, "facts" | "packages">;
  const vulnerabilities = (columns.vulnerabilities as string).split(" ").filter((group) => group !== "");
  return { uid, feed: columns.feed as string, vulnerabilities, facts, packages };
}

/** Of all that is in the row of a package. */
function digestOf(fact: PackageFact, { id, modifyMs }: RecordFacts): string {
  return createHash("sha256")
    .update(JSON.stringify([id, modifyMs, fact]))
    .digest("base64url")
    .slice(0, 22);
}
