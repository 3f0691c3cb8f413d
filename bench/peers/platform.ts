/** The platform itself, from its sources, with its own access log, on standard error. `initialise` stops it as soon as its database is made. */
import { join } from "node:path";
import { readConfig } from "../../src/config.ts";
import { createLogger } from "../../src/log.ts";
import { startServer } from "../../src/server/index.ts";

const [folder = "", ...options] = process.argv.slice(2);
const config = readConfig({
  flags: {
    listen: "127.0.0.1:0",
    database: `sqlite:${join(folder, "platform.db")}`,
    issuer: "https://bench.example.com",
  },
  env: {},
  warn: (message) => console.error(message),
});
const server = await startServer({ ...config, noFastLane: options.includes("no-fast-lane") }, createLogger("info"));
const { installed } = server;
if (options.includes("initialise")) {
  await server.stop();
  process.send?.({ root: installed?.rootGroupUid, administrator: installed?.administratorUid });
  process.disconnect?.();
} else {
  const token = await server.mintToken(options[0] ?? "", 86_400);
  process.send?.({ port: Number(new URL(server.baseUrl).port), token });
}
