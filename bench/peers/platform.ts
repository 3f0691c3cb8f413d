/**
 * The platform, from its sources, with its access log on standard error. With `initialise`, it stops once its database
 * is initialised. It answers every message with its memory and the stalls of its event loop since the previous message.
 */
import { prepareCollector, shortenPauses } from "../../src/app/garbage-collection.ts";
import { type Stall, watchStalls } from "../stalls.ts";

/** Memory and stalls of a server. */
export interface Health {
  readonly rssMb: number;
  /** CPU time of the process since its start. */
  readonly cpuMs: number;
  readonly stalls: readonly Stall[];
}

prepareCollector(); // as the program does, before it loads the rest
const [{ readConfig }, { createLogger }, { startServer }] = await Promise.all([
  import("../../src/config/index.ts"),
  import("../../src/log.ts"),
  import("../../src/app/index.ts"),
]);
const [database = "", ...options] = process.argv.slice(2);
const config = readConfig({
  flags: { listen: "127.0.0.1:0", adminListen: "127.0.0.1:0", database, issuer: "https://bench.example.com" },
  env: {},
  warn: (message) => console.error(message),
});
/** Limits that are checked and never reached. */
const rate = { perSecond: 1e6, burst: 1e6 };
const limits = { rateLimitRead: rate, rateLimitList: rate, rateLimitWrite: rate };
const server = await startServer(
  {
    ...config,
    ...limits,
    fastPath: options.includes("no-fast-path") ? "off" : "on",
    metrics: options.includes("no-metrics") ? "off" : "on",
  },
  createLogger("info"),
);
const { installed } = server;
if (options.includes("initialise")) {
  await server.stop();
  process.send?.({ root: installed?.rootGroupUid, administrator: installed?.administratorUid });
  process.disconnect?.();
} else {
  shortenPauses();
  const token = await server.mintToken(options[0] ?? "", 86_400);
  let stalls: (() => Stall[]) | undefined;
  process.on("message", () => {
    stalls ??= watchStalls(); // only from the first message on, because watching has a cost
    const { user, system } = process.cpuUsage();
    const health = { rssMb: process.memoryUsage.rss() / 2 ** 20, cpuMs: (user + system) / 1000, stalls: stalls() };
    process.send?.(health satisfies Health);
  });
  process.send?.({ port: Number(new URL(server.baseUrl).port), token });
}
