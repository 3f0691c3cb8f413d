/** A server for tests of commands that write, and the command line of its administrator. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "../../src/app/index.ts";
import { readConfig, type SettingName } from "../../src/config/index.ts";
import { createLogger } from "../../src/log.ts";
import { runHere } from "../cli/run-here.ts";
import { copySqlite } from "../databases/migrated.ts";

/** A running server, with a folder for documents. */
export async function startWithFolder(settings: Readonly<Partial<Record<SettingName, string>>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), "platform-"));
  const file = join(folder, "platform.db");
  if (settings.database === undefined) await copySqlite(file);
  const flags = {
    listen: "127.0.0.1:0",
    adminListen: "off",
    drainDelay: "0",
    database: `sqlite:${file}`,
    ...settings,
  };
  const running = await startServer(readConfig({ flags, env: {}, warn: () => {} }), createLogger("silent"));
  const { rootGroupUid: root, administratorUid } = running.installed!;
  const token = await running.mintToken(administratorUid, 3600);
  const env: Readonly<Record<string, string>> = {
    PLATFORM_SERVER: running.baseUrl,
    PLATFORM_TOKEN: token,
    XDG_CONFIG_HOME: join(folder, "configuration"),
    XDG_STATE_HOME: join(folder, "state"),
  };
  return {
    server: running.baseUrl,
    token,
    root,
    folder,
    /** The environment of the administrator. */
    env,
    /** Runs a command with the environment of the administrator. */
    run: (args: readonly string[], more: Record<string, string> = {}) =>
      runHere(args, { cwd: folder, env: { ...env, ...more } }),
    call: async (path: string) =>
      (await fetch(`${running.baseUrl}${path}`, { headers: { authorization: `Bearer ${token}` } })).json(),
    async stop() {
      await running.stop();
      await rm(folder, { recursive: true });
    },
  };
}
