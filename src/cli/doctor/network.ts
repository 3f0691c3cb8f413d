/** Checks that issuers and sinks can be reached, under the rules for addresses that tenants choose. */
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { fetchKeySet } from "../../auth/index.ts";
import type { Config } from "../../config/index.ts";
import { judgedLookup, parseOutboundUrl, resolveBySystem } from "../../outbound.ts";
import { readIssuers, readSinks } from "../../services/index.ts";
import type { Database } from "../../store/index.ts";
import { type CheckResult, countText, ok, skipped, warning } from "./finding.ts";

/** How many issuers of each kind, and sinks, are tried; how many at once. */
const maxTried = 20;
const atOnce = 5;
const connectTimeoutMs = 5000;

/** What was tried, and how it ended. */
interface Tried {
  readonly address: string;
  /** undefined: it was reached. */
  readonly fault: string | undefined;
  /** How much later it is there than here; undefined if its answer has no time. */
  readonly aheadMs?: number | undefined;
}

/** Fetches the keys of issuers. Returns how much later it is at each of them. */
export async function checkIssuers(
  database: Database,
  { allowLoopbackIssuers }: Config,
  ownIssuer: string,
): Promise<{ readonly finding: CheckResult; readonly aheadMs: readonly number[] }> {
  const issuers = [...(await readIssuers(database.read, maxTried))].filter((issuer) => issuer !== ownIssuer);
  const tried = await tryEach(issuers, async (issuer) => {
    const { date } = await fetchKeySet(issuer, { allowLoopbackHttp: allowLoopbackIssuers });
    const atMs = Date.parse(date ?? "");
    return Number.isNaN(atMs) ? undefined : atMs - Date.now();
  });
  const finding = findingOf(
    "issuer",
    tried,
    "their tokens are refused until the server can fetch their keys: check DNS, the firewall, and the issuer",
  );
  return { finding, aheadMs: tried.flatMap(({ aheadMs }) => aheadMs ?? []) };
}

/** Connects to sinks. Nothing is sent to them but the handshake of TLS. */
export async function checkSinks(database: Database, { allowLoopbackSinks }: Config): Promise<CheckResult> {
  const sinks = await readSinks(database.read, maxTried);
  const tried = await tryEach(sinks, async (sink) => {
    await connectTo(parseOutboundUrl(sink, allowLoopbackSinks));
    return undefined;
  });
  return findingOf("sink", tried, "events are sent again for 24 hours: check DNS, the firewall, and the receiver");
}

async function tryEach(
  addresses: readonly string[],
  reach: (address: string) => Promise<number | undefined>,
): Promise<readonly Tried[]> {
  const tried: Tried[] = [];
  const queue = [...addresses];
  const work = async () => {
    for (let address = queue.shift(); address !== undefined; address = queue.shift()) {
      try {
        tried.push({ address, fault: undefined, aheadMs: await reach(address) });
      } catch (error) {
        tried.push({ address, fault: reasonOf(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return tried;
}

function findingOf(name: string, tried: readonly Tried[], advice: string): CheckResult {
  const faults = tried.filter(({ fault }) => fault !== undefined);
  if (tried.length === 0) return skipped(`there is no ${name} to reach`);
  if (faults.length === 0) return ok(`${countText(tried.length, name)} reached`);
  const message = `${faults.length} of ${countText(tried.length, name)} failed`;
  return warning(
    message,
    advice,
    faults.map(({ address, fault }) => `${address}: ${fault}`),
  );
}

/** The message of an error with that of its innermost cause, which says more. */
function reasonOf(error: unknown): string {
  const { message } = error as Error;
  let innermost = error;
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause;
  const { message: reason } = innermost as Error;
  return reason === "" || message.includes(reason) ? message : `${message}: ${reason}`;
}

/** Connects, with TLS for https, and disconnects. Errors: why it cannot. */
async function connectTo({ protocol, hostname, port }: URL): Promise<void> {
  const host = hostname.replace(/^\[|\]$/g, "");
  const isTls = protocol === "https:";
  const options = { host, port: Number(port) || (isTls ? 443 : 80), lookup: judgedLookup(resolveBySystem) };
  const socket: Socket = isTls
    ? connectTls({ ...options, ...(isIP(host) === 0 && { servername: host }) })
    : connectPlain(options);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once(isTls ? "secureConnect" : "connect", () => resolve());
      socket.once("error", reject);
      socket.setTimeout(connectTimeoutMs, () => reject(new Error(`no connection within ${connectTimeoutMs / 1000} s`)));
    });
  } finally {
    socket.destroy();
  }
}
