/**
 * The revision of what is known about packages: it changes with everything that a finding depends on besides images.
 * Its setting is also the lock of those who change it, and of those who add components: else neither would see what the
 * other adds.
 */
import { randomBytes } from "node:crypto";
import { feedOrderSetting } from "../../resource/index.ts";
import type { ReadSession, WriteSession } from "../../store/index.ts";

const setting = "findings_revision";

/** The transactions that have changed it. */
const changed = new WeakSet<WriteSession>();

/** Makes other transactions that add components, or change what is known about packages, wait for this one. */
export async function lockMatches(session: WriteSession): Promise<void> {
  // A lock needs a row.
  if ((await session.setting(setting)) === undefined) await session.addSetting(setting, new Uint8Array());
  await session.lockSetting(setting);
}

/** Changes the revision, once for each transaction. */
export async function changeRevision(session: WriteSession): Promise<void> {
  if (changed.has(session)) return;
  changed.add(session);
  await lockMatches(session);
  await session.putSetting(setting, randomBytes(8));
}

/** The revision. While it is the same, so is what is known about every package. */
export async function readRevision(session: ReadSession): Promise<string> {
  const [revision, order] = [await session.setting(setting), await session.setting(feedOrderSetting)];
  return [revision, order].map((bytes) => Buffer.from(bytes ?? []).toString("hex")).join(" ");
}
