/**
 * testing: stand-ins of the server for tests of its clients, from any test runner, on Node 24.16 and newer. It is the
 * entry `platform-api/testing` of the package, and imports nothing of the server: that runs in a process of its own.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { packageFile } from "../package-file.ts";

/** What a stand-in begins with. */
export interface StandInOptions {
  /** Path of a file or folder of documents, as `platform apply -f` takes them. */
  readonly seed?: string;
  /** Where its clock stands still. By default it goes. A text is an RFC 3339 time. */
  readonly clock?: Date | string;
  /** A number from which all uids follow. By default they are random. */
  readonly uidSeed?: number;
  /** More arguments of `platform serve`. */
  readonly args?: readonly string[];
}

/** A running stand-in: a server with all of its data in memory. */
export interface StandIn extends AsyncDisposable {
  /** `http://127.0.0.1:41234`. */
  readonly baseUrl: string;
  /** A token of the administrator. */
  readonly token: string;
  /** The uid of the first group. */
  readonly rootGroup: string;
  /** Stops it and waits for its end. May be called again. */
  stop(): Promise<void>;
}

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
