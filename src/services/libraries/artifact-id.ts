/**
 * The ids of artifacts besides their uids:
 *
 *     id        = ecosystem ":" name | name
 *     ecosystem = "java" | "python" | "javascript"
 *
 * A Java name contains a colon itself (`org.slf4j:slf4j-api`), so an id is first read with an ecosystem, then as a
 * name.
 */
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { invalid } from "../../errors.ts";
import { fixedUid } from "../../new-uid.ts";
import type { ReadSession, Row, TableSpec } from "../../store/index.ts";
import { isUid } from "../../uid.ts";

/** The names of ecosystems in ids. */
const ecosystemNames: ReadonlyMap<Ecosystem, string> = new Map([
  [Ecosystem.JAVA, "java"],
  [Ecosystem.PYTHON, "python"],
  [Ecosystem.JAVASCRIPT, "javascript"],
]);

/** The uid of the artifact with a name in any spelling, so that importers of different feeds find the same one. */
export function artifactUid(ecosystem: Ecosystem, name: string): string {
  return fixedUid("artifact", ecosystemNames.get(ecosystem) ?? "", canonicalName(ecosystem, name));
}

/** The uid of a version, below that of its artifact. */
export function versionUid(artifact: string, version: string): string {
  return `${artifact}/${fixedUid("artifact version", artifact, version).slice(0, 16)}`;
}

/**
 * The canonical form of a name, which is stored. For Python it ignores case and treats runs of `-`, `_` and `.` as
 * equal (PEP 503).
 */
export function canonicalName(ecosystem: Ecosystem, name: string): string {
  return ecosystem === Ecosystem.PYTHON ? name.toLowerCase().replace(/[-_.]+/g, "-") : name;
}

/**
 * The artifact with an id. Errors: INVALID_ARGUMENT on `field` for an empty id, or for a name in several ecosystems.
 */
export async function findArtifact(
  table: TableSpec,
  session: ReadSession,
  field: string,
  id: string,
): Promise<Row | undefined> {
  if (id === "") throw invalid({ field, description: "is required" });
  const ecosystems = [...ecosystemNames.keys()];
  const qualified = ecosystems.find((ecosystem) => id.startsWith(`${ecosystemNames.get(ecosystem)}:`));
  const name = id.slice(id.indexOf(":") + 1);
  const byUid = isUid(id) ? [id] : [];
  const byId = qualified === undefined ? [] : [artifactUid(qualified, name)];
  const byName = ecosystems.map((ecosystem) => artifactUid(ecosystem, id));
  const rows = await session.getMany(table, [...byUid, ...byId, ...byName]);
  const exact = [...byUid, ...byId].find((uid) => rows.has(uid));
  if (exact !== undefined) return rows.get(exact);
  const named = [...rows.values()];
  if (named.length > 1) {
    const ids = ecosystems.filter((_, i) => rows.has(byName[i]!)).map((e) => `${ecosystemNames.get(e)}:${id}`);
    throw invalid({ field, description: `is ambiguous: ${ids.join(", ")}` });
  }
  return named[0];
}
