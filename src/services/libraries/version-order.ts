/** The order of the versions of an artifact, by the version scheme of its ecosystem. */
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { type VersionOrder, type VersionScheme, versionOrder } from "../../versions/index.ts";

const schemes: ReadonlyMap<Ecosystem, VersionScheme> = new Map([
  [Ecosystem.JAVA, "maven"],
  [Ecosystem.PYTHON, "pep440"],
  [Ecosystem.JAVASCRIPT, "semver"],
]);

/** The position of a version among the others of its ecosystem. */
export function versionOrderOf(ecosystem: Ecosystem, version: string): VersionOrder {
  return versionOrder(schemes.get(ecosystem), version);
}
