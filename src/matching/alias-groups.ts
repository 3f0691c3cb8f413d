/**
 * Which ids are of one vulnerability: CVE, GHSA, GO, PYSEC and others, by what records claim to be aliases.
 *
 * Claims join ids whichever record makes them. A group has at most one CVE. Where claims join several, each has a
 * group, and every other id belongs to that of the CVE that it is joined with over the fewest claims: to several groups
 * if these are equal, as an id that two CVEs claim. Claims between two CVEs join nothing.
 */

/** The claims of one record. */
export interface AliasRecord {
  readonly id: string;
  readonly aliases: readonly string[];
}

/** The ids of one vulnerability. */
export interface AliasGroup {
  /** The CVE, if there is one; else the first GHSA, else the first id. */
  readonly id: string;
  /** Sorted, with {@link id}. */
  readonly ids: readonly string[];
}

/** Groups the ids of records, sorted by their ids. The order of the records does not count. */
export function groupAliases(records: Iterable<AliasRecord>): AliasGroup[] {
  const claims = claimsOf(records);
  const groups = new Map<string, string[]>();
  const owners = nearestCves(claims);
  for (const [id, cves] of owners) {
    for (const cve of cves) {
      const group = groups.get(cve);
      if (group === undefined) groups.set(cve, [id]);
      else group.push(id);
    }
  }
  return [...[...groups.values()], ...joinedWithout(owners, claims)]
    .map((ids) => ids.sort())
    .map((ids) => ({ id: canonicalId(ids), ids }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The id that stands for a group. @param ids sorted, not empty. */
function canonicalId(ids: readonly string[]): string {
  return ids.find(isCve) ?? ids.find((id) => id.startsWith("GHSA-")) ?? ids[0]!;
}

function isCve(id: string): boolean {
  return /^CVE-\d{4}-\d+$/.test(id);
}

/** The ids that each id is joined with. */
type Claims = ReadonlyMap<string, ReadonlySet<string>>;

function claimsOf(records: Iterable<AliasRecord>): Claims {
  const claims = new Map<string, Set<string>>();
  const joined = (id: string) => {
    const known = claims.get(id) ?? new Set();
    claims.set(id, known);
    return known;
  };
  for (const { id, aliases } of records) {
    const own = joined(id);
    for (const alias of aliases) {
      own.add(alias);
      joined(alias).add(id);
    }
  }
  return claims;
}

/** The CVEs that each id belongs to, found claim by claim from all CVEs at once. Ids without CVE are not there. */
function nearestCves(claims: Claims): ReadonlyMap<string, ReadonlySet<string>> {
  const owners = new Map<string, ReadonlySet<string>>();
  let reached = new Map([...claims.keys()].filter(isCve).map((cve) => [cve, new Set([cve])]));
  while (reached.size > 0) {
    for (const [id, cves] of reached) owners.set(id, cves);
    const next = new Map<string, Set<string>>();
    for (const [id, cves] of reached) {
      for (const other of claims.get(id)!) {
        if (owners.has(other)) continue;
        const known = next.get(other);
        next.set(other, new Set([...(known ?? []), ...cves]));
      }
    }
    reached = next;
  }
  return owners;
}

/** The groups of the ids that belong to no CVE. */
function joinedWithout(owners: ReadonlyMap<string, unknown>, claims: Claims): string[][] {
  const seen = new Set<string>();
  const groups: string[][] = [];
  for (const start of claims.keys()) {
    if (owners.has(start) || seen.has(start)) continue;
    const group = [start];
    seen.add(start);
    for (const id of group) {
      for (const other of claims.get(id)!) {
        if (!seen.has(other)) group.push(other);
        seen.add(other);
      }
    }
    groups.push(group);
  }
  return groups;
}
