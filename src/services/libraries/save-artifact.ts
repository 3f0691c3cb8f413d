/** Storing an artifact of a feed with its versions, in a transaction of the importer. */

import { create } from "@bufbuild/protobuf";
import {
  ArtifactSchema,
  ArtifactVersionSchema,
  type Ecosystem,
} from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { messageOf, pruneResource, type Saved, saveResource } from "../../resource/index.ts";
import type { Row, WriteSession } from "../../store/index.ts";
import { artifactUid, canonicalName, versionUid } from "./artifact-id.ts";
import { artifacts, artifactVersions } from "./artifacts.ts";
import { versionOrderOf } from "./version-order.ts";

/** An artifact of a feed. Absent values stay as they are stored. */
export interface ArtifactToSave {
  readonly ecosystem: Ecosystem;
  readonly name: string;
  readonly description?: string;
  /** Whether the record has every version. Otherwise its description is that of its newest version. */
  readonly isWhole: boolean;
  readonly versions: readonly VersionToSave[];
}

/** A version of an artifact of a feed. */
interface VersionToSave {
  readonly version: string;
  readonly description?: string;
  /** When it was published, in milliseconds since 1970. */
  readonly createTimeMs?: number;
  readonly sizeBytes?: number;
  readonly yanked?: boolean;
}

/** How to store an artifact. */
interface SaveArtifactOptions {
  readonly nowMs: number;
  /** Whether to remove stored versions that a whole record does not have. */
  readonly prune: boolean;
}

/** The result of storing an artifact. */
interface SavedArtifact {
  /** The change of the artifact with its versions. */
  readonly saved: Saved;
  /** How many versions were removed. */
  readonly removedVersions: number;
}

/** Stores an artifact and its versions. Errors: INVALID_ARGUMENT for a value rule; NotUniqueError. */
export async function saveArtifact(
  session: WriteSession,
  record: ArtifactToSave,
  { nowMs, prune }: SaveArtifactOptions,
): Promise<SavedArtifact> {
  const name = canonicalName(record.ecosystem, record.name);
  const uid = artifactUid(record.ecosystem, record.name);
  const versions = new Map(record.versions.map((version) => [versionUid(uid, version.version), version]));
  const saving = { uid, name, record, nowMs };
  const isChanged = await saveVersions(session, saving, versions);
  const removedVersions =
    prune && record.isWhole ? await removeVersions(session, uid, (row) => versions.has(row.uid)) : 0;
  const saved = await saveSummary(session, saving);
  return {
    saved: saved === "unchanged" && (isChanged || removedVersions > 0) ? "changed" : saved,
    removedVersions,
  };
}

/** Removes an artifact and its versions; false when there is none. */
export async function removeArtifact(session: WriteSession, uid: string): Promise<boolean> {
  await removeVersions(session, uid, () => false);
  return (await session.remove(artifacts.table, uid)) !== undefined;
}

interface Saving {
  readonly uid: string;
  readonly name: string;
  readonly record: ArtifactToSave;
  readonly nowMs: number;
}

/** Stores versions. Returns whether any was added or changed. */
async function saveVersions(
  session: WriteSession,
  { uid: parent, name, record, nowMs }: Saving,
  versions: ReadonlyMap<string, VersionToSave>,
): Promise<boolean> {
  const rows = await session.getMany(artifactVersions.table, [...versions.keys()]);
  let isChanged = false;
  for (const [uid, given] of versions) {
    const existing = rows.get(uid);
    const stored = existing && messageOf(artifactVersions, existing);
    const message = create(ArtifactVersionSchema, {
      name,
      ecosystem: record.ecosystem,
      version: given.version,
      description: given.description ?? stored?.description ?? "",
      sizeBytes: given.sizeBytes === undefined ? (stored?.sizeBytes ?? 0n) : BigInt(given.sizeBytes),
      yanked: given.yanked ?? stored?.yanked ?? false,
    });
    const createTimeMs = given.createTimeMs ?? nowMs;
    const saved = await saveResource(artifactVersions, session, {
      uid,
      parent,
      isPart: true,
      message,
      nowMs,
      createTimeMs,
      existing,
    });
    if (saved !== "unchanged") isChanged = true;
  }
  return isChanged;
}

/** Stores the artifact itself, computed from its record and its stored versions. */
async function saveSummary(session: WriteSession, { uid, name, record, nowMs }: Saving): Promise<Saved> {
  const existing = await session.get(artifacts.table, uid);
  const latestVersion = await latestVersionOf(session, uid);
  const describesLatest = record.isWhole || record.versions.some(({ version }) => version === latestVersion);
  const given = describesLatest ? record.description : undefined;
  const stored = existing && messageOf(artifacts, existing).description;
  const message = create(ArtifactSchema, {
    name,
    ecosystem: record.ecosystem,
    description: given ?? (stored || record.description) ?? "",
    latestVersion,
    versionCount: await session.count(artifactVersions.table, { parent: uid }),
  });
  const times = record.versions.flatMap(({ createTimeMs }) => (createTimeMs === undefined ? [] : [createTimeMs]));
  const createTimeMs = times.reduce((earliest, time) => Math.min(earliest, time), nowMs);
  return saveResource(artifacts, session, { uid, parent: "", message, nowMs, createTimeMs, existing });
}

/**
 * The newest version that is stable and not yanked, else the newest that is not yanked, else the newest; "" when there
 * is none.
 */
export async function latestVersionOf(session: WriteSession, parent: string): Promise<string> {
  let newest: string | undefined;
  let newestKept: string | undefined;
  for await (const { ecosystem, version, yanked } of newestFirst(session, parent)) {
    newest ??= version;
    if (yanked) continue;
    if (versionOrderOf(ecosystem, version).isStable) return version;
    newestKept ??= version;
  }
  return newestKept ?? newest ?? "";
}

async function* newestFirst(session: WriteSession, parent: string) {
  const orderBy = [{ column: "version_order", descending: true }];
  for (let skip = 0, size = 20; ; skip += size, size *= 4) {
    const rows = await session.list(artifactVersions.table, { parent, orderBy, skip, limit: size });
    for (const row of rows) yield messageOf(artifactVersions, row);
    if (rows.length < size) return;
  }
}

/** Removes versions and returns how many. */
async function removeVersions(session: WriteSession, parent: string, isKept: (row: Row) => boolean): Promise<number> {
  let count = 0;
  let after: string | undefined;
  do {
    const { removed, next } = await pruneResource(artifactVersions, session, { parent }, isKept, after);
    count += removed;
    after = next;
  } while (after !== undefined);
  return count;
}
