/** What was imported before feeds had names, and before versions were compared as they are now. */
import { create, type MessageShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { DocumentSchema } from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { GroupSchema } from "../../gen/platform/iam/v2/groups_pb.ts";
import { ArtifactSchema, ArtifactVersionSchema, Ecosystem } from "../../gen/platform/libraries/v2/artifacts_pb.ts";
import { AdvisorySchema, ReviewState } from "../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { fixedUid, newUid } from "../../src/new-uid.ts";
import { contentOf, messageOf, type Resource } from "../../src/resource/index.ts";
import { documents } from "../../src/services/advisory/documents.ts";
import { groups } from "../../src/services/iam/groups.ts";
import {
  pruneAdvisories,
  pruneDocuments,
  refreshDerivedRows,
  saveAdvisories,
  saveDocument,
} from "../../src/services/index.ts";
import { artifacts, artifactVersions } from "../../src/services/libraries/artifacts.ts";
import { advisories } from "../../src/services/vulnerabilities/advisories.ts";
import type { Database } from "../../src/store/index.ts";
import { versionOrder } from "../../src/versions/order.ts";
import { onEveryEmptyDatabase } from "./databases.ts";
import { migrateUpTo } from "./migrate-up-to.ts";

const nowMs = Date.UTC(2026, 10, 5);
/** Columns of advisories that came after feeds had names. */
const laterColumns = new Set(["advisory_id", "artifact_name"]);
const fixedAt = (timeMs: number) => ({
  time: timestampFromMs(timeMs),
  type: { case: "fixed", value: { fixedVersion: `v${timeMs}` } } as const,
});

onEveryEmptyDatabase("an upgrade", (database) => {
  /** Stores a row as earlier programs did. */
  const insert = <R extends Parameters<typeof create>[0]>(
    db: Database,
    resource: Resource<R>,
    place: { uid: string; parent: string },
    message: MessageShape<R>,
    columns: Record<string, string> = {},
  ) => {
    const content = contentOf(resource, message);
    const all = Object.entries({ ...content.columns, ...columns }).filter(([name]) => !laterColumns.has(name));
    const row = { ...content, columns: Object.fromEntries(all) };
    const types = Object.entries(resource.table.columns).filter(([name]) => !laterColumns.has(name));
    const table = { ...resource.table, columns: Object.fromEntries(types) };
    return db.transact((session) => session.insert(table, { ...place, createTimeUs: 1, updateTimeUs: 2, ...row }));
  };
  const readAll = (db: Database, resource: Resource) =>
    db.read.list(resource.table, { orderBy: [{ column: "uid", descending: false }], skip: 0, limit: 100 });

  test("makes the feed `default` of what there is, newest first, and another feed is merged with it", async () => {
    await migrateUpTo("0010-feeds", database());
    const db = await database().open();
    const group = newUid("");
    await insert(db, groups, { uid: group, parent: "" }, create(GroupSchema, { name: "group" }));
    const documentUid = fixedUid("document", "openssl");
    const advisoryUid = `${group}/${fixedUid("advisory", "openssl", "A").slice(0, 16)}`;
    const [early, late] = [fixedAt(10), fixedAt(20)];
    const document = create(DocumentSchema, {
      id: "openssl",
      advisories: [{ id: "A", events: [early, late].map(({ time, type }) => ({ timestamp: time, data: type })) }],
    });
    const advisory = (times: readonly ReturnType<typeof fixedAt>[]) =>
      create(AdvisorySchema, {
        ...{ advisoryId: "A", author: "feed", artifactName: "openssl", artifactType: "apk" },
        ...{ artifactArchitecture: "all", componentName: "openssl", componentLocation: "/", componentType: "apk" },
        events: times.map(({ time, type }) => ({
          ...{ author: "feed", reviewState: ReviewState.APPROVED },
          ...{ createTime: time, type },
        })),
      });
    await insert(db, documents, { uid: documentUid, parent: "" }, document);
    await insert(db, advisories, { uid: advisoryUid, parent: group }, advisory([early, late]));

    expect(await db.migrate()).toBeGreaterThan(0);
    const counts = await database().sql(
      "select table_name, sum(count) as total from counters where class = 'below' and ancestor = '' group by table_name",
    );
    const totals = new Map(counts.map(({ table_name, total }) => [table_name, Number(total)]));
    expect([totals.get("feed_documents"), totals.get("feed_advisories")]).toEqual([1, 1]);
    await refreshDerivedRows(db, () => nowMs);
    const stored = async () => {
      const [documentRow] = await readAll(db, documents);
      const rows = await readAll(db, advisories);
      const fixes = messageOf(documents, documentRow!).advisories[0]!.events.map(({ data }) => data.value);
      expect(
        messageOf(advisories, rows.find(({ uid }) => uid === advisoryUid)!).events.map(({ type }) => type.value),
      ).toMatchObject(fixes.map((fix) => ({ fixedVersion: (fix as { fixedVersion: string }).fixedVersion })));
      expect([documentRow!.uid, rows.length]).toEqual([documentUid, 1]);
      return fixes.map((fix) => (fix as { fixedVersion: string }).fixedVersion);
    };
    expect(await stored()).toEqual(["v20", "v10"]);

    const other = fixedAt(15);
    await db.transact(async (session) => {
      const request = { feed: "other", group, artifactName: "openssl", nowMs, prune: true };
      await saveAdvisories(session, { ...request, advisories: [advisory([other])] });
      const said = create(DocumentSchema, {
        id: "openssl",
        advisories: [{ id: "A", events: [{ timestamp: other.time, data: other.type }] }],
      });
      await saveDocument(session, { feed: "other", document: said, nowMs });
    });
    expect(await stored()).toEqual(["v20", "v15", "v10"]);
    await db.transact(async (session) => {
      await pruneAdvisories(session, { feed: "default", group, nowMs }, () => false);
      await pruneDocuments(session, { feed: "default", nowMs }, () => false);
    });
    expect(await stored()).toEqual(["v15"]);
  });

  test("moves versions that are compared in another way to their places, once", async () => {
    const db = await database().open();
    await db.migrate();
    const { uid } = { uid: newUid("") };
    const java = { ecosystem: Ecosystem.JAVA };
    await insert(
      db,
      artifacts,
      { uid, parent: "" },
      create(ArtifactSchema, { ...java, name: "g:a", latestVersion: "1" }),
    );
    for (const [i, version] of ["1", "2", "3-SNAPSHOT"].entries())
      await insert(
        db,
        artifactVersions,
        { uid: `${uid}/000000000000000${i}`, parent: uid },
        create(ArtifactVersionSchema, { ...java, name: "g:a", version }),
        version === "2" ? { version_order: "1 an earlier place" } : {},
      );
    await refreshDerivedRows(db, () => nowMs);
    const rows = await readAll(db, artifactVersions);
    for (const { columns, version } of rows) {
      expect(columns.version_order).toBe(versionOrder("maven", columns.artifact_version as string).key);
      expect(version).toBe(1);
    }
    const [artifact] = await readAll(db, artifacts);
    expect(messageOf(artifacts, artifact!).latestVersion).toBe("2");
    await db.transact(async (session) => {
      for (const row of rows)
        await session.setColumns(artifactVersions.table, row.uid, { version_order: "moved by hand" });
    });
    await refreshDerivedRows(db, () => nowMs);
    expect((await readAll(db, artifactVersions)).map(({ columns }) => columns.version_order)).toEqual(
      Array(3).fill("moved by hand"),
    );
  });
});
