/** Removing the artifacts that a feed no longer has, one in a transaction: an artifact may have thousands of versions. */
import type { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import type { Pruned } from "../../resource/index.ts";
import type { WriteSession } from "../../store/index.ts";
import { artifacts } from "./artifacts.ts";
import { removeArtifact } from "./save-artifact.ts";

/** Artifacts looked at in one transaction. */
const portion = 200;

/** Looks at the next artifacts of an ecosystem after the uid `after`, up to the first that is not to be kept, and removes that. */
export async function pruneArtifacts(
  session: WriteSession,
  ecosystem: Ecosystem,
  isKept: (uid: string) => boolean,
  after?: string,
): Promise<Pruned> {
  const rows = await session.list(artifacts.table, {
    where: [{ column: "ecosystem", equals: ecosystem }],
    orderBy: [{ column: "uid", descending: false }],
    ...(after !== undefined && { after: [after] }),
    skip: 0,
    limit: portion,
  });
  const gone = rows.find(({ uid }) => !isKept(uid));
  if (gone === undefined) return { removed: 0, next: rows.length < portion ? undefined : rows.at(-1)!.uid };
  await removeArtifact(session, gone.uid);
  return { removed: 1, next: gone.uid };
}
