/** Recordings of the answers of a server: JSON lines, one for each call over REST, without secrets. */
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { CommandFailure, readInput } from "../../command/index.ts";
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

/** A request as it came. */
export interface ReceivedRequest {
  readonly body: Buffer;
  readonly target: Target;
  /** As it is recorded; undefined if the body is not JSON. */
  readonly request: RecordedRequest | undefined;
}

/** What a request asks for (RFC 9112, section 3.2). */
export interface Target {
  /** That of the absolute form, in which clients send requests to proxies; undefined for the origin form. */
  readonly origin: string | undefined;
  /** With its query. */
  readonly path: string;
}

/** Reads a request. */
export async function readRequest(incoming: IncomingMessage): Promise<ReceivedRequest> {
  const body = await buffer(incoming);
  const target = targetOf(incoming.url ?? "");
  const call = { method: incoming.method ?? "", path: withoutTokens(target.path) };
  if (body.length === 0) return { body, target, request: call };
  const json = jsonOf(body.toString());
  return { body, target, request: json && { ...call, body: withoutSecrets(json.value) } };
}

function targetOf(url: string): Target {
  const [origin] = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i.exec(url) ?? [];
  if (origin === undefined) return { origin, path: url };
  const rest = url.slice(origin.length);
  return { origin, path: rest.startsWith("/") ? rest : `/${rest}` };
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
  return readInput(file)
    .split("\n")
    .flatMap((line, index) => {
      if (line === "") return [];
      const call = jsonOf(line)?.value as RecordedCall | undefined;
      if (typeof call?.method !== "string" || typeof call.path !== "string" || typeof call.status !== "number")
        throw new CommandFailure(`${file}:${index + 1}: this is not a line of a recording`, 2);
      return [call];
    });
}

function keyOf({ method, path, body }: RecordedRequest): string {
  return JSON.stringify([method, path, body ?? null]);
}
