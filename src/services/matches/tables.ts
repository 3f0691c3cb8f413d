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
 * What an image contains: its components, those of all platforms for an index, as {@link heldId} has them. The uid is
 * that of the image. `parts` are the digests of its platforms. `is_part` is 1 for the manifest of a platform in an
 * index, `has_sbom` where it or one of its platforms has a list of packages. The sets are long, and therefore last: who
 * reads the rest does not read over them.
 */
export const imageContents: TableSpec = {
  name: "image_contents",
  columns: { digest: "text", is_part: "integer", has_sbom: "integer", parts: "texts", components: "texts" },
};

/**
 * The id of a component in the set of an image. It says whether the image is a part of another: so the index of the
 * sets alone finds the images that contain a component and are no parts.
 */
export function heldId(id: string, isPart: boolean): string {
  return isPart ? `part ${id}` : id;
}

/** Which components an image contains since when, see `image-body.ts`. The uid is that of the image. */
export const imageMembers: TableSpec = { name: "image_members", columns: {} };
