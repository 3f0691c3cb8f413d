/** A stand-in for tests (`serve --ephemeral`): what it does before its first call, and how it announces itself. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import type { RunningServer } from "../app/index.ts";
import { maxTokenLifeSeconds } from "../auth/index.ts";
import type { Config } from "../config/index.ts";
import { seedServer } from "../remote/index.ts";
import { writeSecret } from "./write-secret.ts";

/** What a client of a stand-in needs, as it is printed and written to `--ready-file`. */
interface StandInFacts {
  readonly baseUrl: string;
  /** Of the administrator. */
  readonly token: string;
  /** The uid of the first group. */
  readonly rootGroup: string;
}

/**
 * Applies the seed, then writes the ready file. Returns the line for standard output. Errors: CommandFailure if the
 * seed is not applied; those of the file system.
 */
export async function prepareStandIn(server: RunningServer, { seed, readyFile }: Config): Promise<string> {
  const { baseUrl, listenUrl, installed, mintToken } = server;
  const token = await mintToken(installed!.administratorUid, maxTokenLifeSeconds);
  if (seed !== undefined) await seedServer(listenUrl, token, seed);
  const facts: StandInFacts = { baseUrl, token, rootGroup: installed!.rootGroupUid };
  const line = `${JSON.stringify(facts)}\n`;
  if (readyFile !== undefined) writeSecret(readyFile, line);
  return line;
}

/**
 * Removes the ready file, so that nobody takes a stand-in that has ended for one that is ready.
 * @param line of the stand-in that ends: the file of another one that has replaced it stays. Errors: those of the file
 * system.
 */
export function removeReadyFile({ readyFile }: Config, line?: string): void {
  if (readyFile === undefined || !existsSync(readyFile)) return;
  if (line === undefined || readFileSync(readyFile, "utf8") === line) rmSync(readyFile);
}

/**
 * Calls back when the program that started this one with an IPC channel of Node has ended, in whatever way; never
 * without a channel.
 */
export function onEndOfParent(end: () => void): void {
  if (process.connected === false) end();
  process.once("disconnect", end);
  process.channel?.unref(); // it does not keep this program running
}
