#!/usr/bin/env node
// Starts the command line: the sources in a checkout, even if there is an older build; the emitted JavaScript in an
// installed package. A checkout has the required Node as a dependency, so an older Node on the PATH only needs to find it.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const source = new URL("../src/main.ts", import.meta.url);
const entry = fileURLToPath(existsSync(source) ? source : new URL("../dist/src/main.js", import.meta.url));
const ownNode = fileURLToPath(new URL("../node_modules/node/bin/node", import.meta.url));

const args = process.argv.slice(2);
// An import uses all the heap it is given before it collects garbage; a tenth of this would be enough.
const limits = args[0] === "import" ? ["--max-old-space-size=256", "--max-semi-space-size=8"] : [];
const [major, minor] = process.versions.node.split(".").map(Number);
const isRecent = major > 24 || (major === 24 && minor >= 16);

if (isRecent && limits.length === 0) {
  await import(entry);
} else if (isRecent || existsSync(ownNode)) {
  const child = spawn(isRecent ? process.execPath : ownNode, [...limits, entry, ...args], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
} else {
  console.error(`platform needs Node 24.16 or newer, this is ${process.version}`);
  process.exit(1);
}
