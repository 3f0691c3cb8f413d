/**
 * testing: stand-ins of the server for tests of its clients, from any test runner, on Node 24.16 and newer. It is the
 * entry `platform-api/testing` of the package, and imports nothing of the server: that runs in a process of its own.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { packageFile } from "../package-file.ts";
import type { StandIn, StandInOptions } from "./stand-in.ts";

export type { StandIn, StandInOptions } from "./stand-in.ts";

/**
 * Starts a stand-in and waits until it takes calls. The variables `PLATFORM_…` of this process do not reach it. It ends
 * with this process or thread at the latest, however that ends. Errors: a plain Error with what it printed, if it does
 * not start.
 */
export async function startPlatform(options: StandInOptions = {}): Promise<StandIn> {
  const child = spawn(process.execPath, [fileURLToPath(packageFile("bin/platform.js")), ...argumentsOf(options)], {
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PLATFORM_"))),
    stdio: ["ignore", "pipe", "pipe", "ipc"], // a stand-in ends when the channel does
  });
  const closed = once(child, "close");
  const stop = async () => {
    child.kill("SIGTERM");
    await closed;
  };
  try {
    const facts = JSON.parse(await firstLine(child, closed)) as Pick<StandIn, "baseUrl" | "token" | "rootGroup">;
    return { ...facts, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function argumentsOf({ seed, clock, uidSeed, args = [] }: StandInOptions): string[] {
  return [
    ...["serve", "--ephemeral"],
    ...(seed === undefined ? [] : ["--seed", seed]),
    ...(clock === undefined ? [] : ["--clock", typeof clock === "string" ? clock : clock.toISOString()]),
    ...(uidSeed === undefined ? [] : ["--uid-seed", String(uidSeed)]),
    ...args,
  ];
}

/** The first line that it prints, once it takes calls. Errors: it has ended. */
function firstLine(child: ChildProcess, closed: Promise<unknown>): Promise<string> {
  let errors = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    errors = `${errors}${text}`.slice(-4000);
  });
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).once("line", resolve);
    closed.then(() => reject(new Error(`the stand-in has ended: ${errors}`)), reject);
  });
}
