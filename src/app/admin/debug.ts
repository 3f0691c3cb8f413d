/**
 * `/debug/heap` and `/debug/profile`: a heap snapshot and a CPU profile of a process, for Chrome's developer tools. A
 * heap snapshot has everything that is in memory, secrets too. One is made at a time.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { isIPv6 } from "node:net";
import type { Config } from "../../config/index.ts";
import { respond } from "./respond.ts";

/** Where the files come from, and who gets them. */
export interface DebugFiles {
  readonly access: Config["adminDebug"];
  /** Writes a heap snapshot to the response, and ends it. Errors: any, with a message for the client. */
  heap(response: ServerResponse, url: URL): Promise<void>;
  /** Writes a CPU profile of so many seconds, likewise. */
  profile(response: ServerResponse, url: URL, seconds: number): Promise<void>;
}

const defaultSeconds = 10;
const maxSeconds = 60;

type Serve = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;

/** The two pages. `address`: where the server listens. */
export function serveDebug(
  files: DebugFiles,
  address: () => ReturnType<Server["address"]>,
): { readonly heap: Serve; readonly profile: Serve } {
  let underWay: string | undefined;

  const oneAtATime = async (
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    make: () => Promise<void>,
  ): Promise<void> => {
    const refusal = refusalOf(files.access, request, address());
    if (refusal !== undefined) return respond(response, [403, { status: refusal }]);
    if (underWay !== undefined) return respond(response, [409, { status: `${underWay} is under way` }]);
    if (request.method === "HEAD") return respond(response, [200, {}]);
    underWay = name;
    try {
      await make();
    } finally {
      underWay = undefined;
    }
  };

  return {
    heap: (request, response, url) => oneAtATime(request, response, "a heap snapshot", () => files.heap(response, url)),
    async profile(request, response, url) {
      const text = url.searchParams.get("seconds") ?? String(defaultSeconds);
      const seconds = Number(text);
      if (!/^\d{1,2}$/.test(text) || seconds < 1 || seconds > maxSeconds)
        return respond(response, [400, { status: `seconds must be a number from 1 to ${maxSeconds}` }]);
      return oneAtATime(request, response, "a CPU profile", () => files.profile(response, url, seconds));
    },
  };
}

/** The headers of a file that the client saves. */
export function fileHeaders(name: string): Map<string, string> {
  return new Map([
    ["content-type", "application/json"],
    ["content-disposition", `attachment; filename="${name}"`],
    ["cache-control", "no-store"],
  ]);
}

/**
 * Why a request is refused; undefined if it is not. The host is checked, too, because a page in a browser on this
 * machine can have any name resolve to a loopback address.
 */
function refusalOf(
  access: DebugFiles["access"],
  { socket, headers }: IncomingMessage,
  address: ReturnType<Server["address"]>,
): string | undefined {
  if (access === "on") return undefined;
  if (access === "off") return "heap snapshots and CPU profiles are off (--admin-debug)";
  const listens = typeof address === "object" && address !== null && isLoopback(address.address);
  const host = /^(.*?)(?::\d+)?$/.exec(headers.host ?? "")?.[1]?.replace(/^\[|\]$/g, "") ?? "";
  if (listens && isLoopback(socket.remoteAddress ?? "") && (host === "localhost" || isLoopback(host))) return undefined;
  return "heap snapshots and CPU profiles are for loopback clients of a loopback address (--admin-listen), unless --admin-debug=on";
}

/** Whether only programs on this machine reach an address. */
export function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(address) || (isIPv6(address) && address === "::1");
}
