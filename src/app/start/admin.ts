/** Reports the state of this process: to its admin listener, if it has one, and to its peers. */
import { defaultAdminListen } from "../../config/index.ts";
import { openAtAdminAddress } from "../admin/address.ts";
import { isLoopback } from "../admin/debug.ts";
import { openAdmin } from "../admin/open.ts";
import type { StartContext } from "./context.ts";

/** The reports of a server that starts. */
export interface StateReports {
  /** The port of the admin listener of this process. */
  readonly adminPort: number | undefined;
  /** Reports a change. */
  update(): void;
}

/** Without a change, the state is reported this often, which shows that the event loop moves. */
const everyMs = 1000;

/** Opens the admin listener, and begins to report. Errors: StartFailure. */
export async function reportState(context: StartContext): Promise<StateReports> {
  const { peers, probing, readiness, stack } = context;
  const admin = peers.sharesPort ? await openForSupervisor(context) : await openForOperator(context);
  const update = () => {
    const checks = readiness.checks();
    admin?.report(checks);
    peers.report(checks, admin?.port, probing.isRecent);
  };
  const timer = setInterval(update, everyMs).unref();
  stack.defer(() => {
    clearInterval(timer);
    return admin?.close();
  });
  update();
  return { adminPort: admin?.port, update };
}

function openForOperator({ config, log, metrics, probing }: StartContext) {
  const { adminDebug: debug, adminHosts: hosts } = config;
  const collect = metrics && (() => metrics.collect());
  return openAtAdminAddress(config, log, (listen) =>
    openAdmin({ listen, debug, hosts, log, collect, onProbe: () => probing.note() }),
  );
}

/** The supervisor answers for all processes. What only a process itself can give, it gets from that one's thread. */
async function openForSupervisor({ config, log, metrics, peers }: StartContext) {
  if (metrics !== undefined) peers.onCollect(() => metrics.collect());
  const { adminListen = defaultAdminListen, adminDebug } = config;
  if (adminListen === "off" || adminDebug === "off") return undefined;
  if (adminDebug === "loopback" && !isLoopback(adminListen.host)) return undefined;
  return openAdmin({ listen: { host: "127.0.0.1", port: 0 }, debug: "loopback", hosts: [], log });
}
