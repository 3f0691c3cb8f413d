/** Putting versions in their places again, after the program has learned to compare them in another way. */
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { messageOf, saveResource } from "../../resource/index.ts";
import type { Row, WriteSession } from "../../store/index.ts";
import { artifacts, artifactVersions } from "./artifacts.ts";
import { latestVersionOf } from "./save-artifact.ts";
import { versionOrder } from "./version-order.ts";

/** Artifacts looked at in one transaction: one may have thousands of versions. */
const portion = 10;
const versionPortion = 1000;

/** Looks at the next Java artifacts after the uid `after`; where the next portion begins, if there is one. */
export async function refreshVersions(
  session: WriteSession,
  nowMs: number,
  after?: string,
): Promise<string | undefined> {
  const where = [{ column: "ecosystem", equals: Ecosystem.JAVA }];
  const rows = await session.list(artifacts.table, { where, ...pageAfter(after, portion) });
  for (const row of rows) if (await moveVersions(session, row.uid)) await saveLatest(session, row, nowMs);
  return rows.length < portion ? undefined : rows.at(-1)!.uid;
}

/** Whether any version of an artifact moved. */
async function moveVersions(session: WriteSession, parent: string): Promise<boolean> {
  let isMoved = false;
  for (let after: string | undefined; ; ) {
    const rows = await session.list(artifactVersions.table, { parent, ...pageAfter(after, versionPortion) });
    for (const { uid, facets } of rows) {
      const { key } = versionOrder(Ecosystem.JAVA, facets.version as string);
      if (key === facets.version_order) continue;
      await session.setFacets(artifactVersions.table, uid, { version_order: key });
      isMoved = true;
    }
    if (rows.length < versionPortion) return isMoved;
    after = rows.at(-1)!.uid;
  }
}

async function saveLatest(session: WriteSession, existing: Row, nowMs: number): Promise<void> {
  const { uid, parent } = existing;
  const message = { ...messageOf(artifacts, existing), latestVersion: await latestVersionOf(session, uid) };
  await saveResource(artifacts, session, { uid, parent, message, nowMs, existing });
}

function pageAfter(after: string | undefined, limit: number) {
  const orderBy = [{ column: "uid", descending: false }];
  return { orderBy, ...(after !== undefined && { after: [after] }), skip: 0, limit };
}
