/**
 * Two settings that change with what groups have decided: one of all, and one of the organisation. So what is
 * remembered of decisions is read again.
 */
import { randomBytes } from "node:crypto";
import type { ReadSession, WriteSession } from "../../store/index.ts";
import { rootOf } from "../../uid.ts";

const setting = "decisions_revision";

/** To be called when a group decides something, or takes it back. */
export async function changeDecisions(session: WriteSession, group: string): Promise<void> {
  await session.putSetting(setting, randomBytes(8));
  await session.putSetting(`${setting} ${rootOf(group)}`, randomBytes(8));
}

/** Changes with every decision, or with those of an organisation; "" before the first one. */
export async function decisionsRevision(session: ReadSession, organisation?: string): Promise<string> {
  const bytes = await session.setting(organisation === undefined ? setting : `${setting} ${organisation}`);
  return Buffer.from(bytes ?? []).toString("hex");
}
