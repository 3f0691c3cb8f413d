/**
 * The platform itself, from its sources, with its own access log, on standard error. `initialise` stops it as soon as its database is made.
 * Asked anything, it answers with its memory, and with when its event loop has stood still since it was asked before.
 */
import { prepareCollector, shortenPauses } from "../../src/collector.ts";
import { type Stall, watchStalls } from "../stalls.ts";

/** How a server fares. */
export interface Health {
  readonly rssMb: number;
  readonly stalls: readonly Stall[];
}

prepareCollector(); // as the program does, before it loads the rest
const [{ readConfig }, { createLogger }, { startServer }] = await Promise.all([
  import("../../src/config.ts"),
  import("../../src/log.ts"),
  import("../../src/server/index.ts"),
]);
const [database = "", ...options] = process.argv.slice(2);
const config = readConfig({
  flags: { listen: "127.0.0.1:0", database, issuer: "https://bench.example.com" },
  env: {},
  warn: (message) => console.error(message),
});
const server = await startServer({ ...config, fullDoors: options.includes("no-fast-lane") }, createLogger("info"));
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
    stalls ??= watchStalls(); // from the first question on: a bench that asks nothing pays nothing
    process.send?.({ rssMb: process.memoryUsage.rss() / 2 ** 20, stalls: stalls() } satisfies Health);
  });
  process.send?.({ port: Number(new URL(server.baseUrl).port), token });
}
