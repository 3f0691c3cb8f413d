/** Recordings of the answers of a server: JSON lines, one for each call over REST, without secrets. */
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { CommandFailure } from "../../command/index.ts";
import { withoutSecrets, withoutTokens } from "./secrets.ts";

/** What a request is found by. Bodies are JSON, without secrets. */
export interface RecordedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
}

/** A line of a recording. */
export interface RecordedCall extends RecordedRequest {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** In JSON; absent if it is empty. */
  readonly answer?: unknown;
}

/** A request as it is recorded, and its body as it came; undefined if the body is not JSON. */
export async function readRequest(
  incoming: IncomingMessage,
): Promise<{ readonly body: Buffer; readonly request: RecordedRequest | undefined }> {
  const body = await buffer(incoming);
  const method = incoming.method ?? "";
  const path = withoutTokens(incoming.url ?? "");
  if (body.length === 0) return { body, request: { method, path } };
  const json = jsonOf(body.toString());
  return { body, request: json && { method, path, body: withoutSecrets(json.value) } };
}

/** The value of JSON text; undefined if it is none. */
export function jsonOf(source: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(source) };
  } catch {
    return undefined;
  }
}

/** Finds the answers of a recording. */
export class Recording {
  readonly #calls: ReadonlyMap<string, readonly RecordedCall[]>;
  readonly #used = new Map<string, number>();

  constructor(calls: readonly RecordedCall[]) {
    this.#calls = Map.groupBy(calls, keyOf) as ReadonlyMap<string, readonly RecordedCall[]>;
  }

  /** The answer to a request: to the n-th of equal ones the n-th, and the last to all after it. */
  find(request: RecordedRequest): RecordedCall | undefined {
    const key = keyOf(request);
    const calls = this.#calls.get(key) ?? [];
    const used = this.#used.get(key) ?? 0;
    this.#used.set(key, used + 1);
    return calls[Math.min(used, calls.length - 1)];
  }
}

/** Reads a recording. Errors: CommandFailure. */
export function readRecording(file: string): RecordedCall[] {
  let source: string;
  try {
    source = readFileSync(file, "utf8");
  } catch (error) {
    throw new CommandFailure(`cannot read ${file}: ${(error as Error).message}`, 2);
  }
  return source.split("\n").flatMap((line, index) => {
    if (line === "") return [];
    const call = jsonOf(line)?.value as RecordedCall | undefined;
    if (typeof call?.method !== "string" || typeof call.path !== "string" || typeof call.status !== "number")
      throw new CommandFailure(`${file}:${index + 1}: this is no line of a recording`, 2);
    return [call];
  });
}

function keyOf({ method, path, body }: RecordedRequest): string {
  return JSON.stringify([method, path, body ?? null]);
}
