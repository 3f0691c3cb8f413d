/**
 * A listening socket that a service manager passes on, `sd_listen_fds(3)`: no connection is refused between servers.
 */
import { ConfigError } from "../config/index.ts";

/** The descriptor of the first socket that is passed on. */
const firstDescriptor = 3;

/** Its descriptor; undefined: the server opens a socket of its own. Errors: ConfigError. */
export function inheritedSocket(workers: number): number | undefined {
  const { LISTEN_PID, LISTEN_FDS } = process.env;
  if (Number(LISTEN_PID) !== process.pid) return undefined;
  if (LISTEN_FDS !== "1") throw new ConfigError(`LISTEN_FDS: one socket can be taken over, not ${LISTEN_FDS}`);
  if (workers > 1) throw new ConfigError("--workers: several processes cannot take over a socket (LISTEN_FDS); use 1");
  return firstDescriptor;
}
