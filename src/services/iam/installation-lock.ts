/** Changes of what concerns all organisations happen one after another. */
import type { Awaitable } from "../../awaitable.ts";
import type { WriteSession } from "../../store/index.ts";

/** The setting that every initialised database has. */
export const installationSetting = "installation";

/** Waits for other changes of what concerns all organisations, and makes others wait. */
export function lockInstallation(session: WriteSession): Awaitable<void> {
  return session.lockSetting(installationSetting);
}
