#!/usr/bin/env node
// Starts the command line: the sources in a checkout, even if there is an older build; the bundle in an installed
// package. A checkout has the required Node as a dependency, so an older Node on the PATH only needs to find it. The
// syntax is that of an older one, which has to print what to do.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const source = new URL("../src/main.ts", import.meta.url);
const entry = fileURLToPath(existsSync(source) ? source : new URL("../dist/program/main.js", import.meta.url));
const ownNode = fileURLToPath(new URL("../node_modules/node/bin/node", import.meta.url));

const [major, minor] = process.versions.node.split(".").map(Number);
/** Whether this Node is recent enough: `engines` of package.json. */
const isRecent = major > 24 || (major === 24 && minor >= 16);

const args = process.argv.slice(2);
// An import uses all the heap it is given before it collects garbage; a tenth of this would be enough.
const limits = args[0] === "import" ? ["--max-old-space-size=256", "--max-semi-space-size=8"] : [];

if (isRecent && limits.length === 0) {
  keepCompiled();
  await import(entry);
} else if (isRecent || existsSync(ownNode)) {
  const child = spawn(isRecent ? process.execPath : ownNode, [...limits, entry, ...args], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
} else {
  console.error(
    `error: platform needs Node 24.16 or newer, and this is ${process.version}.
Install it from https://nodejs.org, or let npm run the program by a Node of its own:
  npx --package node@24 --package platform-api platform ${args.join(" ")}`.trimEnd(),
  );
  process.exit(1);
}

/**
 * Keeps what V8 compiles in a folder of the user, for the next start. It is code that will run, so that nobody else may
 * own or write the folder. Without such a folder, the program only starts later. NODE_COMPILE_CACHE names another.
 */
function keepCompiled() {
  try {
    const caches = process.env.XDG_CACHE_HOME || process.env.LOCALAPPDATA || join(homedir(), ".cache");
    const folder = join(caches, "platform-api", "compiled");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    const isOwn = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    if (isOwn) module.enableCompileCache(folder);
  } catch {
    // no home, or one that is read-only
  }
}
