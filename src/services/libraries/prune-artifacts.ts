/**
 * Removing artifacts that a feed no longer has, one in a transaction, since an artifact may have thousands of versions.
 */
import type { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { nextRows, type Pruned } from "../../resource/index.ts";
import type { WriteSession } from "../../store/index.ts";
import { artifacts } from "./artifacts.ts";
import { removeArtifact } from "./save-artifact.ts";

/** The artifacts that one transaction reads. */
const portion = 200;

/** Checks the next artifacts of an ecosystem after the uid `after`, and removes the first that is not to be kept. */
export async function pruneArtifacts(
  session: WriteSession,
  ecosystem: Ecosystem,
  isKept: (uid: string) => boolean,
  after?: string,
): Promise<Pruned> {
  const where = [{ column: "ecosystem", equals: ecosystem }];
  const { rows, next } = await nextRows(session, artifacts.table, { where, limit: portion }, after);
  const gone = rows.find(({ uid }) => !isKept(uid));
  if (gone === undefined) return { removed: 0, next };
  await removeArtifact(session, gone.uid);
  return { removed: 1, next: gone.uid };
}
