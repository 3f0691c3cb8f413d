/** Tokens in files. */
import { readFile } from "node:fs/promises";
import type { TokenSource } from "../client/index.ts";

/**
 * The token in a file. It is read again for each call, and when the server refuses it, because others replace it:
 * Kubernetes does every hour. Errors: those of the file system.
 */
export function fileToken(path: string): TokenSource {
  return {
    token: async () => (await readFile(path, "utf8")).trim() || undefined,
    refused: () => true,
  };
}
