/** Failures of a start that the operator can mend: the setting, what is wrong with it, and what to do. */
import { type Config, flagOf, type ListenAddress } from "../config/index.ts";

/** A failure whose message explains it to the operator in one line. */
export class StartFailure extends Error {
  override readonly name = "StartFailure";
}

/** The StartFailure for an error of listening on an address, or the error itself if it is of no known kind. */
export function listenFailure(setting: keyof Config, { host, port }: ListenAddress, error: unknown): unknown {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} of ${host} is in use, perhaps by another platform server; stop it (\`ss -ltnp\` shows the process) or choose another port`,
    EACCES: `this user may not open port ${port}; choose a port above 1023`,
    EADDRNOTAVAIL: `${host} is not an address of this machine`,
    ENOTFOUND: `the host name ${host} does not resolve`,
    EAI_AGAIN: `the host name ${host} does not resolve`,
  };
  const reason = reasons[(error as NodeJS.ErrnoException).code ?? ""];
  return reason === undefined ? error : new StartFailure(`${flagOf(setting)}: ${reason}`, { cause: error });
}
