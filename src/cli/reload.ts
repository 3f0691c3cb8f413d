/** SIGHUP: a running server reads its settings again. */
import { closeSync, openSync } from "node:fs";
import type { LiveSettings } from "../app/index.ts";
import { type Config, ConfigError } from "../config/index.ts";
import type { Logger } from "../log.ts";

/**
 * Calls `reload` at each SIGHUP. If the program had a terminal that has gone, SIGHUP means that, and stops it as
 * SIGTERM does.
 */
export function onHangUp(reload: () => void): void {
  const hadTerminal = hasTerminal();
  process.on("SIGHUP", () => {
    if (hadTerminal && !hasTerminal()) process.kill(process.pid, "SIGTERM");
    else reload();
  });
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}

/** Reads settings again; undefined if they are not valid, which is logged. @param read errors: ConfigError. */
export function readAgain(read: () => Config, log: Logger): Config | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    log.error({ reason: error.message }, "settings not reloaded: nothing has changed");
    return undefined;
  }
}

/** Has a server take settings that were read again, and logs which have changed. */
export function takeSettings(live: LiveSettings, next: Config, log: Logger): void {
  const { reloadable: changed, others } = live.changesTo(next);
  const tell = () => log.info({ changed }, "settings reloaded");
  const wasTold = log.isLevelEnabled("info");
  if (wasTold) tell();
  live.take(next);
  if (!wasTold) tell();
  if (others.length > 0) log.warn({ settings: others }, "settings have changed that need a restart");
}
