/** The message of a server that initialised its database: first steps and the first token. */
import type { RunningServer } from "../app/index.ts";
import type { Config } from "../config/index.ts";
import { firstTokenSeconds } from "./init.ts";
import { writeSecret } from "./write-secret.ts";

/**
 * The text for standard output; "" if the database was initialised before. It contains the token only on a terminal,
 * because other output is often kept in logs. With `--init-token-file`, the token is written to that file, readable by
 * its owner alone.
 */
export async function welcome(server: RunningServer, { initTokenFile, pages }: Config): Promise<string> {
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
  return `${facts}  administrator token  (valid for one hour, ${place}; \`npx platform-api token\` makes another)

export PLATFORM_SERVER=${baseUrl}
export PLATFORM_TOKEN=${isWritten ? `$(cat ${initTokenFile})` : token}

Try:

  npx platform-api list groups
  npx platform-api create repo --parent ${installed.rootGroupUid} --name my-repo
  curl -H "Authorization: Bearer $PLATFORM_TOKEN" ${baseUrl}/registry/v2/repos

${pages === "on" ? `In a browser: ${baseUrl}\n\n` : ""}`;
}

const withoutToken = `  administrator token  not shown: standard output is not a terminal (--init-token-file writes it to a file);
                       \`npx platform-api token\` makes one on this machine

`;

/** Writes the token to a file. Returns false after a warning if that fails. */
function writeToken(path: string, token: string): boolean {
  try {
    writeSecret(path, `${token}\n`);
    return true;
  } catch (error) {
    console.error(`warning: --init-token-file: ${(error as Error).message}`);
    return false;
  }
}
