/** Reports the state of this process: to its probes, if it has any, and to its peers. */
import { openProbes } from "../probes/open.ts";
import type { StartContext } from "./context.ts";

/** The reports of a server that starts. */
export interface StateReports {
  /** The port of the probes of this process. */
  readonly probePort: number | undefined;
  /** Reports from now on why the server takes no calls. Before that it is starting. */
  begin(unreadiness: () => string | undefined): void;
  /** Reports a change. */
  update(): void;
}

/** Without a change, the state is reported this often, which shows that the event loop runs. */
const everyMs = 1000;

/** Opens the probes, and begins to report. Errors: StartFailure. */
export async function reportState({ config, peers, probing, stack }: StartContext): Promise<StateReports> {
  const { probeListen } = config;
  // The supervisor of several processes answers for all of them.
  const probes =
    probeListen === undefined || peers.sharesPort ? undefined : await openProbes(probeListen, () => probing.note());
  let unreadiness: () => string | undefined = () => "starting";
  const update = () => {
    const status = unreadiness();
    probes?.report(status);
    peers.report(status, probing.isRecent);
  };
  const timer = setInterval(update, everyMs).unref();
  stack.defer(() => {
    clearInterval(timer);
    return probes?.close();
  });
  return {
    probePort: probes?.port,
    begin(current) {
      unreadiness = current;
      update();
    },
    update,
  };
}
