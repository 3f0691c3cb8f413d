/**
 * The rows that findings are computed of. What feeds say belongs to nobody; what images contain belongs to their repos.
 */
import type { TableSpec } from "../../store/index.ts";

/**
 * What each feed says about a vulnerability beside packages. `source` is the uid of what the record was read from, such
 * as the document of a feed; `identifiers` are the id of the record and its aliases. `vulnerabilities` are the uids of
 * its alias groups, separated by spaces: several if it names several CVEs.
 */
export const vulnerabilityRecords: TableSpec = {
  name: "vulnerability_records",
  columns: { feed: "text", source: "text", vulnerabilities: "text", identifiers: "texts" },
};

/**
 * What each record says about one package, by its package key, one row for each alias group of the record:
 * `vulnerability` is the uid of that one. The key is "" where nothing can be matched.
 */
export const affectedPackages: TableSpec = {
  name: "affected_packages",
  columns: { feed: "text", package_key: "text", vulnerability: "text" },
};

/** The EPSS of the CVEs of one block: a year, and a thousand numbers. The uid is derived from the block. */
export const exploitScores: TableSpec = { name: "exploit_scores", columns: {} };

/** The entry of a CVE in the catalog of known exploited vulnerabilities. The uid is derived from its id. */
export const knownExploits: TableSpec = { name: "known_exploits", columns: {} };

/** Each distinct component. `keys` are all keys by which facts find it, the own one first. */
export const components: TableSpec = {
  name: "components",
  columns: { package_key: "text", keys: "texts" },
};

/** What one affected package says about a component, which is named by its id; a row only where it says something. */
export const componentMatches: TableSpec = {
  name: "component_matches",
  columns: { component: "text", vulnerability: "text", affected: "text" },
};

/**
 * The components of an image, those of all platforms for an index, by their ids. The uid is that of the image. `parts`
 * are the digests of its platforms. `is_part` is 1 for the manifest of a platform in an index, `has_sbom` where it or
 * one of its platforms has a list of packages.
 */
export const imageComponents: TableSpec = {
  name: "image_components",
  columns: { digest: "text", components: "texts", parts: "texts", is_part: "integer", has_sbom: "integer" },
};
