/** What a server that has initialised its database says: what to try first, with the first token. */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import type { Config } from "../config.ts";
import type { RunningServer } from "../server/index.ts";
import { firstTokenSeconds } from "./init.ts";

/**
 * The text for standard output; "" when the database was initialised before. The token is in it only on a terminal: what is written elsewhere is
 * kept in logs. With `--init-token-file` it goes to that file, which only its owner can read.
 */
export async function welcome(server: RunningServer, { initTokenFile }: Config): Promise<string> {
  const { baseUrl, installed, mintToken } = server;
  if (installed === undefined) return "";
  const facts = `
The database was empty; it now has a root group and an administrator.

  root group           ${installed.rootGroupUid}
`;
  if (initTokenFile === undefined && !process.stdout.isTTY) return `${facts}${withoutToken}`;
  const token = await mintToken(installed.administratorUid, firstTokenSeconds);
  const isWritten = initTokenFile !== undefined && writeToken(initTokenFile, token);
  if (initTokenFile !== undefined && !isWritten) return `${facts}${withoutToken}`;
  const place = isWritten ? `in ${initTokenFile}` : "shown once";
  return `${facts}  administrator token  (valid for one hour, ${place}; \`npx platform token\` makes another)

export TOKEN=${isWritten ? `$(cat ${initTokenFile})` : token}

Try:

  curl ${baseUrl}/ping/v2/ping
  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/iam/v2/groups
  curl -H "Authorization: Bearer $TOKEN" -d '{"name":"my-repo"}' ${baseUrl}/registry/v2/repos/${installed.rootGroupUid}

`;
}

const withoutToken = `  administrator token  not shown: standard output is not a terminal (--init-token-file writes it to a file);
                       \`npx platform token\` makes one on this machine

`;

/** Writes the token to a new file that takes the place of an old one; false, and says why, when it cannot. */
function writeToken(path: string, token: string): boolean {
  const made = `${path}.${process.pid}`;
  try {
    writeFileSync(made, `${token}\n`, { mode: 0o600, flag: "wx" });
    renameSync(made, path);
    return true;
  } catch (error) {
    rmSync(made, { force: true });
    console.error(`warning: --init-token-file: ${(error as Error).message}`);
    return false;
  }
}
