/** Computes the order of versions again after the program compares them in a new way. */

import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { messageOf, nextRows, saveResource } from "../../resource/index.ts";
import type { Row, WriteSession } from "../../store/index.ts";
import { artifacts, artifactVersions } from "./artifacts.ts";
import { latestVersionOf } from "./save-artifact.ts";
import { versionOrderOf } from "./version-order.ts";

/** The artifacts of one transaction. One may have thousands of versions. */
const portion = 10;
const versionPortion = 1000;

/** Refreshes the next Java artifacts after the uid `after`. Returns where the next portion begins. */
export async function refreshVersions(
  session: WriteSession,
  nowMs: number,
  after?: string,
): Promise<string | undefined> {
  const where = [{ column: "ecosystem", equals: Ecosystem.JAVA }];
  const { rows, next } = await nextRows(session, artifacts.table, { where, limit: portion }, after);
  for (const row of rows) if (await moveVersions(session, row.uid)) await saveLatest(session, row, nowMs);
  return next;
}

/** Refreshes the versions of an artifact. Returns whether any has moved. */
async function moveVersions(session: WriteSession, parent: string): Promise<boolean> {
  let isMoved = false;
  for await (const rows of session.pages(artifactVersions.table, { parent, limit: versionPortion })) {
    for (const { uid, columns } of rows) {
      const { key } = versionOrderOf(Ecosystem.JAVA, columns.artifact_version as string);
      if (key === columns.version_order) continue;
      await session.setColumns(artifactVersions.table, uid, { version_order: key });
      isMoved = true;
    }
  }
  return isMoved;
}

async function saveLatest(session: WriteSession, existing: Row, nowMs: number): Promise<void> {
  const { uid, parent } = existing;
  const message = { ...messageOf(artifacts, existing), latestVersion: await latestVersionOf(session, uid) };
  await saveResource(artifacts, session, { uid, parent, message, nowMs, existing });
}
