/** `platform serve`: runs the server until it is told to stop. On an empty database it first does what `init` does. */
import { once } from "node:events";
import { Command } from "commander";
import { shortenPauses } from "../collector.ts";
import { createLogger } from "../log.ts";
import { type RunningServer, startServer } from "../server/index.ts";
import { firstTokenSeconds } from "./init.ts";
import { settingsOf, withSettings } from "./settings.ts";
import { stopSignal } from "./stop-signal.ts";

export function serveCommand(): Command {
  const command = withSettings(new Command("serve")).description("run the server");
  return command.action(async () => {
    const config = settingsOf(command);
    const log = createLogger(config.logLevel);
    const { signal } = stopSignal();
    const server = await startServer(config, log);
    shortenPauses();
    process.stdout.write(`platform listens on ${server.baseUrl}\n${await welcome(server)}`);
    if (!signal.aborted) await once(signal, "abort");
    log.info({ signal: signal.reason.message }, "stopping");
    await server.stop();
  });
}

/** What to try first, once, with the only token that the server ever shows. */
async function welcome({ baseUrl, installed, mintToken }: RunningServer): Promise<string> {
  if (installed === undefined) return "";
  const token = await mintToken(installed.administratorUid, firstTokenSeconds);
  return `
The database was empty; it now has a root group and an administrator.

  root group           ${installed.rootGroupUid}
  administrator token  (valid for one hour, shown once; \`npx platform token\` makes another)

export TOKEN=${token}

Try:

  curl ${baseUrl}/ping/v2/ping
  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/iam/v2/groups
  curl -H "Authorization: Bearer $TOKEN" -d '{"name":"my-repo"}' ${baseUrl}/registry/v2/repos/${installed.rootGroupUid}

`;
}
