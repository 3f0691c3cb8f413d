/** Where the admin listener is. */
import { type Config, defaultAdminListen, flagOf, type ListenAddress } from "../../config/index.ts";
import type { Logger } from "../../log.ts";

/**
 * Opens the admin listener of the settings by `open`; undefined if it is off, or if nobody has chosen its address and
 * that is in use, as it is by a second server on one machine. Errors: those of `open`.
 */
export async function openAtAdminAddress<T>(
  { adminListen }: Config,
  log: Logger,
  open: (listen: ListenAddress) => Promise<T>,
): Promise<T | undefined> {
  if (adminListen === "off") return undefined;
  if (adminListen !== undefined) return open(adminListen);
  try {
    return await open(defaultAdminListen);
  } catch (error) {
    if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code !== "EADDRINUSE") throw error;
    const { host, port } = defaultAdminListen;
    log.warn(
      { address: `${host}:${port}`, setting: flagOf("adminListen") },
      "no admin listener: its default address is in use",
    );
    return undefined;
  }
}
